from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lucius.adapters.ledgers.sqlite.deliveries import SqliteDeliveries
from lucius.adapters.ledgers.sqlite.ledger import SqliteLedger
from lucius.core import commands as cmd
from lucius.core.decide import Chance, decide, open_job
from lucius.core.job import Job, StepResult
from lucius.ports.ledger import Change, Claim
from lucius.webhooks.guard import Policy
from lucius.webhooks.outgoing import deliveries_for
from lucius.webhooks.post import Poster
from lucius.webhooks.sender import Sender
from lucius.webhooks.signing import Signer, make_secret

CHANCE = Chance(lease_id="lease-1")
SUCCESS = StepResult(status="SUCCEEDED", output_ref={"uri": "s3://b/out/x"})


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[SqliteLedger]:
    """A ledger in a file."""
    found = SqliteLedger(str(tmp_path / "ledger.db"), clock=lambda: 9)
    yield found
    await found.close()


async def test_client_hears_the_whole_story_in_order(
    ledger: SqliteLedger, make_job: Callable[..., Job], serve: Any
) -> None:
    """A job driven through the real core and ledger tells its client each change, in order, once."""
    endpoint = await serve()
    order = make_job(f"http://127.0.0.1:{endpoint.port}/in").order
    claim = Claim(tenant_id="tenant_a", key="k", expires_at=None, release_on_failure=False)
    await ledger.create(claim, lambda _: _change(None, open_job(order, CHANCE)))
    reply: dict[str, Any] = {"step_id": "ocr", "attempt_no": 1, "lease_id": "lease-1"}
    commands = (
        cmd.Published(step_id="ocr", attempt_no=1),
        cmd.Ack(**reply),
        cmd.Result(**reply, result=SUCCESS),
    )
    for now, command in enumerate(commands, start=2):
        await ledger.change("j1", _judge(command, now))
    sender = _sender(ledger)
    rounds = [(await sender.run_once(9)).delivered for _ in range(4)]
    told = [msgspec.json.decode(request.body) for request in endpoint.seen]
    assert rounds == [1, 1, 1, 0]
    assert [event["type"] for event in told] == [
        "lucius.job.accepted",
        "lucius.job.in_progress",
        "lucius.job.succeeded",
    ]
    assert told[-1]["data"]["final_output"] == {"uri": "s3://b/out/x"}


def _judge(command: cmd.Command, now: int) -> Callable[[Job, object], Change]:
    return lambda job, _: _change(job, decide(job, command, now, CHANCE))


def _change(before: Job | None, decision: Any) -> Change:
    return Change(decision=decision, deliveries=deliveries_for(before, decision.job, decision.events))


def _sender(ledger: SqliteLedger) -> Sender:
    async def write(sql: str, values: tuple[Any, ...]) -> None:
        await ledger.execute([(sql, [values])])

    async def nowhere(host: str, port: int) -> Sequence[str]:
        raise AssertionError(host)

    async def no_sleep(seconds: float) -> None:
        raise AssertionError(seconds)

    return Sender(
        deliveries=SqliteDeliveries(ledger.reader.query, write),
        poster=Poster(policy=lambda: Policy(allow_loopback=True), resolver=nowhere),
        signer=Signer(make_secret(b"k" * 32)),
        clock=lambda: 9,
        chance=lambda: 0.0,
        sleep=no_sleep,
    )
