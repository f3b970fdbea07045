from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import count
from typing import Any

import pytest
from azure.core.exceptions import ServiceRequestError, ServiceResponseError
from azure.core.pipeline.policies import AsyncHTTPPolicy
from azure.data.tables.aio import TableClient

from lucius.errors import Invalid, Unavailable
from lucius.sdk.attempts.azure_table import AzureTableAttempts
from lucius.sdk.attempts.packing import place
from lucius.sdk.serving.ports import Attempts, Found
from lucius.testing.attempts import LATER, NOW, AttemptsHarness
from lucius.testing.parts import KEY, Azurite

tables = count(1)


class Line(AsyncHTTPPolicy[Any, Any]):
    """A line that delivers writes and then breaks, as often as it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.dropped = 0
        self.busy = 0
        self.broken = 0
        self.cut = False

    async def send(self, request: Any) -> Any:
        """Send it; what comes back depends."""
        if self.cut:
            raise ServiceRequestError("nobody there")
        answer = await self.next.send(request)
        if request.http_request.method == "GET":
            return answer
        if self.dropped:
            self.dropped -= 1
            self.broken += 1
            raise ServiceResponseError("the connection was closed")
        if self.busy:
            self.busy -= 1
            self.broken += 1
            answer.http_response.status_code = 503
        return answer


@pytest.fixture
def line() -> Line:
    """A line that works, for now."""
    return Line()


@pytest.fixture
async def harness(azurite: Azurite, line: Line) -> AsyncIterator[AttemptsHarness]:
    """A table of its own at the end of the line."""
    name = f"faulty{next(tables)}"

    async def another() -> Attempts:
        client = TableClient.from_connection_string(
            azurite.connection_string, name, per_retry_policies=[line], retry_backoff_factor=0, retry_total=2
        )
        return AzureTableAttempts(client)

    harness = AttemptsHarness(attempts=await another(), another=another)
    await harness.begun()
    yield harness
    await harness.attempts.close()


@pytest.mark.parametrize("fault", ["busy", "dropped"])
async def test_a_doubtful_claim_is_the_claimers(harness: AttemptsHarness, line: Line, fault: str) -> None:
    """Written, then 503 or silence: the client's second try finds its own first one, and that is no other."""
    key = harness.key()
    setattr(line, fault, 1)
    assert await harness.claim(key) == Found(claimed=True)
    assert line.broken == 1
    assert await harness.claim(key) == Found(claimed=False)


@pytest.mark.parametrize("fault", ["busy", "dropped"])
async def test_a_doubtful_takeover_is_the_takers(harness: AttemptsHarness, line: Line, fault: str) -> None:
    """A takeover that was written but not answered has its taker; nobody else gets it."""
    setattr(line, fault, 1)
    assert len(await harness.take()) == 1
    assert line.broken == 1
    assert await harness.take(owner="third") == []


@pytest.mark.parametrize("fault", ["busy", "dropped"])
async def test_doubtful_results_and_heartbeats_are_done_once(
    harness: AttemptsHarness, line: Line, fault: str
) -> None:
    """Extending, finishing and telling are the same the second time."""
    key = await harness.begun()
    setattr(line, fault, 1)
    assert await harness.attempts.extend([key], owner="first", until=LATER) == [True]
    setattr(line, fault, 1)
    assert await harness.attempts.finish(key, owner="first", result=b"done") == b"done"
    setattr(line, fault, 1)
    await harness.attempts.told(key, now=NOW)
    assert line.broken == 3
    assert await harness.claim(key) == Found(claimed=False, result=b"done")
    assert key not in {each.key for each in await harness.take(now=LATER)}


async def test_a_table_that_stays_away_is_told(harness: AttemptsHarness, line: Line) -> None:
    """When the client gives up, the caller is told to try again; nothing is half done."""
    key, new = await harness.begun(), harness.key()
    line.cut = True
    for call in (harness.claim(new), harness.take(), harness.attempts.told(key, now=NOW)):
        with pytest.raises(Unavailable) as refusal:
            await call
        assert refusal.value.code == "ATTEMPTS_UNAVAILABLE"
    line.cut = False
    assert await harness.claim(new) == Found(claimed=True)
    assert await harness.attempts.extend([key], owner="first", until=LATER) == [True]


async def test_a_wrong_key_is_told(azurite: Azurite) -> None:
    """A credential that opens nothing gives a sentence, not a stack of the client's."""
    wrong = azurite.connection_string.replace(KEY, "AAAA")
    attempts = AzureTableAttempts(TableClient.from_connection_string(wrong, "nothing"))
    with pytest.raises(Unavailable) as refusal:
        await attempts.forget(before=1)
    assert refusal.value.code == "ATTEMPTS_FORBIDDEN"
    await attempts.close()


async def test_what_azure_would_refuse_is_refused_first(harness: AttemptsHarness) -> None:
    """A directive or a result beyond the limits of a table is named with its size; nothing is written."""
    noise = b"".join(n.to_bytes(4) for n in _scattered(300_000))
    key, begun = harness.key(), await harness.begun()
    with pytest.raises(Invalid, match="1200000 bytes"):
        await harness.claim(key, directive=noise)
    assert await harness.claim(key) == Found(claimed=True)
    with pytest.raises(Invalid) as refusal:
        await harness.attempts.finish(begun, owner="first", result=noise)
    assert refusal.value.code == "ATTEMPT_TOO_LARGE"
    assert await harness.claim(begun) == Found(claimed=False)


def _scattered(many: int) -> list[int]:
    """Numbers that do not compress."""
    return [(n * 2_654_435_761 ^ (n * n * 40_503)) % 2**32 for n in range(many)]


async def test_what_a_crash_left_half_done_is_cleared(harness: AttemptsHarness) -> None:
    """A late claim of a told attempt whose process died before it undid it is not reported."""
    key = await harness.begun()
    store = harness.attempts
    assert isinstance(store, AzureTableAttempts)
    shard, name = place(key)
    where = (shard, f"open!{name}")
    claim = await store._table.get(where)
    assert claim is not None
    await store.told(key, now=NOW)
    await store._table.create(where, claim)
    assert key not in {each.key for each in await harness.take(now=LATER)}
    assert await store._table.get(where) is None
    await store._table.create(where, claim)
    await store.told(key, now=NOW)
    assert await store._table.get(where) is None
    assert await harness.claim(key) == Found(claimed=False)
