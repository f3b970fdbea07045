"""The hostile corpus, driven through HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from lucius.ports.ledger import JobQuery
from lucius.testing.hostile import HOSTILE
from tests.api.world import World

MAX_REFUSAL = 32 * 1024


async def test_every_hostile_body_is_refused_with_its_code_and_makes_nothing(api: World) -> None:
    """Whatever is wrong with a body, the answer is a small problem with that code, and no job exists."""
    wrong = []
    for case in HOSTILE:
        headers = {"content-type": case.content_type} if case.content_type else {}
        answer = await api.client.post("/v1/orchestrate", content=case.raw, headers=headers)
        told = answer.json()
        if (
            told.get("code") != case.code
            or answer.status_code not in {400, 413, 415, 422}
            or answer.headers["content-type"] != "application/problem+json"
            or len(answer.content) > MAX_REFUSAL
        ):
            wrong.append((case.name, case.code, answer.status_code, answer.text[:200]))
    assert wrong == []
    assert len(HOSTILE) > 250
    assert await api.lucius.ledger.jobs(JobQuery()) == []


@pytest.mark.parametrize(
    "path",
    [
        "/v1/orchestrate:plan",
        "/v1/orchestrate:batch",
        "/v1/callbacks/ack",
        "/v1/callbacks/batch",
        "/v1/directives:receive",
        "/v1/directives:settle",
        "/v1/directives:renew",
        "/v1/admin/outbox/retry",
        "/v1/admin/dead-letters:redrive",
    ],
)
async def test_every_body_is_read_as_strictly(api: World, path: str) -> None:
    """Bombs, bad bytes, doubled keys and other media types are refused wherever a body is taken."""
    hostile = {
        b"{": {400},
        b'{"a": NaN}': {400},
        b"\xff\xfe": {400},
        b'{"a": 1, "a": 2}': {422},
        b'{"a": "\\ud800"}': {422},
        b"[" * 100_000: {422},
        b"[]": {422},
        b'{"a": ' + b"9" * 100_000 + b"}": {422},
    }
    for raw, statuses in hostile.items():
        answer = await api.client.post(path, content=raw, headers={"content-type": "application/json"})
        assert answer.status_code in statuses, (raw[:20], answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
    other = await api.client.post(path, content=b"{}", headers={"content-type": "text/plain"})
    assert (other.status_code, other.json()["code"]) == (415, "UNSUPPORTED_MEDIA_TYPE")


async def test_a_body_that_never_ends_is_cut_off(api: World) -> None:
    """The limit counts what arrives, whatever length was announced or not."""
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while True:
            sent += 65_536
            yield b" " * 65_536

    answer = await api.client.post(
        "/v1/orchestrate", content=endless(), headers={"content-type": "application/json"}
    )
    assert (answer.status_code, answer.json()["code"]) == (413, "BODY_TOO_LARGE")
    assert sent <= 6 * 65_536


async def test_a_body_announced_too_large_is_not_read(api: World) -> None:
    """A content length beyond the limit is refused before a byte of the body is taken."""
    read = False

    async def body() -> AsyncIterator[bytes]:
        nonlocal read
        read = True
        yield b"{}"

    headers = {"content-type": "application/json", "content-length": "300000"}
    answer = await api.client.post("/v1/orchestrate", content=body(), headers=headers)
    assert (answer.status_code, read) == (413, False)
