from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import msgspec
import pytest

from lucius.conformance import requests as kit
from lucius.conformance.bench import Bench
from lucius.conformance.desk import Desk
from lucius.conformance.ledger import Ledger
from lucius.conformance.listener import listening
from lucius.conformance.options import DEFAULTS
from lucius.conformance.subject import Nobody
from lucius.entrypoints.api import requests as real
from lucius.errors import Invalid
from lucius.runtime.nature import new_id, now_ms
from lucius.wire.messages import decode_directive

KEY = {"Authorization": "Bearer the-key"}
SHAPES = ("ReceiveRequest", "SettleRequest", "RenewRequest", "ReplyBatch")


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """A kit that listens, with nobody to test."""
    ledger = Ledger(clock=now_ms, new_id=new_id, lock_seconds=30.0, key="the-key")
    async with listening(Desk(ledger), "http://127.0.0.1:0") as url:
        yield Bench(
            ledger=ledger, subject=Nobody(), options=DEFAULTS, home=tmp_path, url=url, step_type="OCR"
        )
        ledger.close()


@pytest.fixture
async def service(bench: Bench) -> AsyncIterator[httpx2.AsyncClient]:
    """Somebody who calls the kit."""
    async with httpx2.AsyncClient(base_url=bench.url, trust_env=False) as client:
        yield client


def about(attempt: Any, **more: Any) -> dict[str, Any]:
    """A reply about an attempt."""
    return {**attempt.ids, "timestamp": "2031-05-04T10:00:00Z", **more}


async def tell(service: httpx2.AsyncClient, attempt: Any, kind: str, **more: Any) -> tuple[int, Any]:
    """Status and document of one callback."""
    headers = {"Authorization": f"Bearer {attempt.token}"}
    answer = await service.post(f"/v1/callbacks/{kind}", json=about(attempt, **more), headers=headers)
    return answer.status_code, answer.json()


@pytest.mark.parametrize("shape", SHAPES)
def test_the_kit_takes_what_lucius_takes(shape: str) -> None:
    """The shapes of requests are those of the real API, to the last limit."""
    ours, theirs = (_rules(msgspec.json.schema(getattr(module, shape))) for module in (kit, real))
    assert ours == theirs


def _rules(schema: dict[str, Any]) -> Any:
    """A schema without names, words and references: only what it allows."""

    def plain(node: Any) -> Any:
        if isinstance(node, list):
            return [plain(one) for one in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return plain(schema["$defs"][node["$ref"].rpartition("/")[2]])
        return {name: plain(one) for name, one in node.items() if name not in {"title", "description"}}

    return plain({"$ref": schema["$ref"]})


async def test_a_directive_of_the_kit_is_a_directive(bench: Bench) -> None:
    """What services get from the kit is what Lucius itself would read as a directive."""
    attempt = bench.attempt()
    read = decode_directive(msgspec.json.encode(attempt.document))
    assert (read.job_id, read.attempt_no, read.step_type) == (attempt.job_id, 1, "OCR")


async def test_verdicts_are_those_of_the_core(bench: Bench, service: httpx2.AsyncClient) -> None:
    """First accepted, then duplicate, conflict for another result, stale after a newer attempt."""
    attempt = bench.attempt()
    told = [
        await tell(service, attempt, "ack"),
        await tell(service, attempt, "ack"),
        await tell(service, attempt, "heartbeat", progress=0.5),
        await tell(service, attempt, "result", status="SUCCEEDED"),
        await tell(service, attempt, "result", status="SUCCEEDED"),
        await tell(service, attempt, "result", status="FAILED_FINAL", error={"code": "X"}),
    ]
    assert [status for status, _ in told] == [200] * 6
    verdicts = [answer["verdict"] for _, answer in told]
    assert verdicts == ["accepted", "duplicate", "accepted", "accepted", "duplicate", "conflict"]
    attempt.superseded = True
    assert (await tell(service, attempt, "heartbeat"))[1]["verdict"] == "stale_lease"


async def test_a_token_fits_its_own_attempt_only(bench: Bench, service: httpx2.AsyncClient) -> None:
    """A reply about one attempt with the token of another is 401, and remembered as a leak."""
    first, second = bench.attempt(), bench.attempt()
    headers = {"Authorization": f"Bearer {second.token}"}
    answer = await service.post("/v1/callbacks/ack", json=about(first), headers=headers)
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert [one.leak for one in bench.ledger.faults] == [True]


async def test_strangers_get_no_directives(bench: Bench, service: httpx2.AsyncClient) -> None:
    """Receive, settle and renew need the service key."""
    bench.give(bench.attempt())
    answers = [
        await service.post(f"/v1/directives:{verb}", json={}) for verb in ("receive", "settle", "renew")
    ]
    assert [one.status_code for one in answers] == [401, 401, 401]
    assert answers[0].json()["code"] == "UNAUTHENTICATED"


async def test_directives_are_lent_renewed_and_settled(bench: Bench, service: httpx2.AsyncClient) -> None:
    """A long poll ends as soon as there is work; a lock is ok until it is settled, then lost."""
    asked = {"step_types": ["OCR"], "wait_seconds": 20}
    async with asyncio.TaskGroup() as group:
        poll = group.create_task(service.post("/v1/directives:receive", json=asked, headers=KEY))
        assert await bench.ledger.until(lambda: bool(bench.ledger.asked), 10)
        bench.give(bench.attempt())
    (lent,) = poll.result().json()["directives"]
    lock = lent["lock_token"]
    renewed = await service.post("/v1/directives:renew", json={"lock_tokens": [lock]}, headers=KEY)
    assert renewed.json()["results"][0]["result"] == "ok"
    settled = {"settlements": [{"lock_token": lock, "outcome": "complete"}]}
    results = [
        (await service.post("/v1/directives:settle", json=settled, headers=KEY)).json()["results"][0][
            "result"
        ]
        for _ in range(2)
    ]
    assert results == ["ok", "lost"]


async def test_a_batch_is_judged_reply_by_reply(bench: Bench, service: httpx2.AsyncClient) -> None:
    """A withheld answer, a good one and a bad one come back side by side."""
    away, good = bench.attempt(), bench.attempt()
    away.refusals["ACK"] = 1
    replies = [about(one, type="ACK", callback_token=one.token) for one in (away, good)]
    answer = await service.post("/v1/callbacks/batch", json={"replies": [*replies, 7]})
    assert [one["status"] for one in answer.json()["results"]] == [503, 200, 422]


async def test_what_is_withheld_is_503_with_a_time(bench: Bench, service: httpx2.AsyncClient) -> None:
    """Lucius being away looks as it does in earnest: a problem document with Retry-After."""
    bench.ledger.away["receive"] = 1
    answer = await service.post("/v1/directives:receive", json={}, headers=KEY)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["code"] == "UNAVAILABLE"


async def test_an_address_in_use_is_told(bench: Bench) -> None:
    """Two kits on one address: the second says so."""
    with pytest.raises(Invalid, match="cannot listen"):
        async with listening(Desk(bench.ledger), bench.url):
            pass


async def test_callbacks_go_where_the_service_reached_the_kit(
    bench: Bench, service: httpx2.AsyncClient
) -> None:
    """A service that knows the kit under another name is told to reply under that name."""
    await service.post("/v1/directives:receive", json={}, headers={**KEY, "Host": "kit.example:8799"})
    urls = bench.attempt().document["callback_urls"]
    assert urls["ack"] == "http://kit.example:8799/v1/callbacks/ack"


async def test_a_lock_that_runs_out_ends_a_long_poll(bench: Bench, service: httpx2.AsyncClient) -> None:
    """What was taken and left lying is lent again, with a higher count, to whoever waits."""
    bench.ledger.lock_seconds = 0.05
    bench.give(bench.attempt())
    asked = {"step_types": ["OCR"], "wait_seconds": 20}
    counts = []
    for _ in range(2):
        answer = await service.post("/v1/directives:receive", json=asked, headers=KEY, timeout=30)
        counts += [lent["delivery_count"] for lent in answer.json()["directives"]]
    assert counts == [1, 2]


async def test_inputs_of_earlier_steps_are_handed_on(bench: Bench) -> None:
    """A service that needs the text of an earlier step finds it where its directive says."""
    bench.options = msgspec.structs.replace(DEFAULTS, inputs={"ocr": "file:///a/output.txt"})
    assert bench.attempt().document["inputs"] == {"ocr": {"uri": "file:///a/output.txt"}}
