from __future__ import annotations

import asyncio
from pathlib import Path

import pydantic
import pytest

from lucius.sdk import Artifact, Final, Retryable, Step, service
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.ports import AttemptKey, Heard
from lucius.wire.messages import AckMessage, ResultMessage, encode
from tests.serving.world import LuciusDouble, Reply, away_for, directive, now_ms, running


class Wanted(pydantic.BaseModel):
    """What the service under test takes."""

    times: int = 1
    fail: str | None = None


class Log:
    """What the service under test did."""

    def __init__(self) -> None:
        self.worked: list[str] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.begun = asyncio.Event()


def counting(log: Log, concurrency: int = 1):
    """A service that writes one file and can be held up."""

    @service("COUNT", concurrency=concurrency)
    async def count(step: Step[Wanted]) -> Artifact:
        log.worked.append(f"{step.directive.job_id}/{step.attempt_no}")
        log.begun.set()
        await log.gate.wait()
        if step.payload.fail == "retry":
            raise Retryable("BUSY", "come back later")
        if step.payload.fail == "final":
            raise Final("HOPELESS")
        if step.payload.fail == "bug":
            raise ZeroDivisionError("oops")
        words = len((await step.document.text()).split())
        return await step.workspace.write_json("count.json", {"words": words * step.payload.times})

    return count


async def test_work_is_acknowledged_done_and_reported_in_that_order(tmp_path: Path) -> None:
    """ACK, then the work, then a RESULT with a file that is there, has its size and its hash."""
    lucius, log = LuciusDouble(), Log()
    async with running(counting(log), lucius, tmp_path / "a.db"):
        lock = lucius.deliver(directive(tmp_path, payload={"times": 2}))
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    assert [type(reply) for reply in lucius.replies][:1] == [AckMessage]
    (result,) = lucius.of(ResultMessage)
    assert result.status == "SUCCEEDED"
    assert result.output_ref["uri"].endswith("/workspace/job-1/COUNT/1/count.json")
    written = Path(result.output_ref["uri"].removeprefix("file://")).read_bytes()
    assert written == b'{"words":6}'
    assert result.output_ref["size"] == len(written)
    assert lucius.completed == [lock]


@pytest.mark.parametrize(
    ("fail", "status", "code"),
    [
        ("retry", "FAILED_RETRY", "BUSY"),
        ("final", "FAILED_FINAL", "HOPELESS"),
        ("bug", "FAILED_RETRY", "SERVICE_ERROR"),
    ],
)
async def test_failures_say_whether_trying_again_helps(
    tmp_path: Path, fail: str, status: str, code: str
) -> None:
    """What a service raises decides what becomes of the job; a bug is worth another attempt."""
    lucius, log = LuciusDouble(), Log()
    async with running(counting(log), lucius, tmp_path / "a.db"):
        lucius.deliver(directive(tmp_path, payload={"fail": fail}))
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    (result,) = lucius.of(ResultMessage)
    assert (result.status, result.error.code) == (status, code)


async def test_a_payload_that_does_not_fit_is_final(tmp_path: Path) -> None:
    """A wrong payload stays wrong: the job fails at once, with the pointer, and nothing is executed."""
    lucius, log = LuciusDouble(), Log()
    async with running(counting(log), lucius, tmp_path / "a.db"):
        lucius.deliver(directive(tmp_path, payload={"times": "many"}))
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    (result,) = lucius.of(ResultMessage)
    assert (result.status, result.error.code) == ("FAILED_FINAL", "INVALID_PAYLOAD")
    assert "/times" in result.error.message
    assert log.worked == []


async def test_the_same_directive_again_while_it_runs_starts_nothing(tmp_path: Path) -> None:
    """A duplicate of running work is settled and forgotten."""
    lucius, log = LuciusDouble(), Log()
    log.gate.clear()
    async with running(counting(log, concurrency=4), lucius, tmp_path / "a.db"):
        first = lucius.deliver(directive(tmp_path))
        await log.begun.wait()
        second = lucius.deliver(directive(tmp_path))
        await lucius.until(lambda: second in lucius.completed)
        log.gate.set()
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    assert set(lucius.completed) == {first, second}
    assert log.worked == ["job-1/1"]
    assert len(lucius.of(ResultMessage)) == 1


async def test_a_finished_directive_again_sends_the_stored_result(tmp_path: Path) -> None:
    """Re-emission is a duty: the same RESULT, to the byte, also after a restart, and no second work."""
    lucius, log = LuciusDouble(), Log()
    async with running(counting(log), lucius, tmp_path / "a.db"):
        lucius.deliver(directive(tmp_path))
        await lucius.until(lambda: len(lucius.of(ResultMessage)) == 1)
        lucius.deliver(directive(tmp_path))
        await lucius.until(lambda: len(lucius.of(ResultMessage)) == 2)
    async with running(counting(log), lucius, tmp_path / "a.db"):
        lucius.deliver(directive(tmp_path))
        await lucius.until(lambda: len(lucius.of(ResultMessage)) == 3)
    assert len({encode(result) for result in lucius.of(ResultMessage)}) == 1
    assert log.worked == ["job-1/1"]


async def test_another_attempt_is_another_piece_of_work(tmp_path: Path) -> None:
    """Attempt 2 has a lease and a folder of its own."""
    lucius, log = LuciusDouble(), Log()
    async with running(counting(log), lucius, tmp_path / "a.db"):
        lucius.deliver(directive(tmp_path))
        lucius.deliver(directive(tmp_path, attempt_no=2, lease_id="lease-2"))
        await lucius.until(lambda: len(lucius.of(ResultMessage)) == 2)
    assert log.worked == ["job-1/1", "job-1/2"]
    assert {result.output_ref["uri"].split("/")[-2] for result in lucius.of(ResultMessage)} == {"1", "2"}
    assert {result.lease_id for result in lucius.of(ResultMessage)} == {"lease-job-1", "lease-2"}


async def test_an_ack_that_is_refused_stops_the_attempt_before_the_work(tmp_path: Path) -> None:
    """A directive of an attempt that is over is settled; its work never begins."""
    lucius, log = LuciusDouble(), Log()
    lucius.answer = lambda _reply: Heard(verdict="stale_lease")
    async with running(counting(log), lucius, tmp_path / "a.db"):
        lock = lucius.deliver(directive(tmp_path))
        await lucius.until(lambda: lock in lucius.completed)
    assert log.worked == []
    assert lucius.of(ResultMessage) == []


@pytest.mark.parametrize("kind", [AckMessage, ResultMessage])
async def test_a_lucius_that_is_away_is_told_when_it_is_back(
    tmp_path: Path, kind: type[AckMessage | ResultMessage]
) -> None:
    """Neither an ACK nor a RESULT is given up because nobody answered, and the work is done once."""
    lucius, log = LuciusDouble(), Log()
    lucius.answer = away_for(3, kind)
    async with running(counting(log), lucius, tmp_path / "a.db"):
        lucius.deliver(directive(tmp_path))
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    assert log.worked == ["job-1/1"]
    assert len(lucius.of(kind)) == 1


async def test_an_unreadable_directive_is_put_aside(tmp_path: Path) -> None:
    """Rubbish on the bus becomes a dead letter, and the next directive is served."""
    lucius, log = LuciusDouble(), Log()
    async with running(counting(log), lucius, tmp_path / "a.db"):
        locks = [lucius.deliver(body) for body in (b"", b"[]", b"{}", b'{"type":"DIRECTIVE"}', b"\xff")]
        lucius.deliver(directive(tmp_path))
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    assert lucius.refused == locks
    assert log.worked == ["job-1/1"]


async def test_attempts_of_a_dead_process_are_reported_by_the_next(tmp_path: Path) -> None:
    """Work whose process died is told as SERVICE_CRASHED, once, without waiting for the lease."""
    lucius, log = LuciusDouble(), Log()
    dead = SqliteAttempts(tmp_path / "a.db")
    lost = directive(tmp_path)
    key = AttemptKey(job_id="job-1", step_id="count", attempt_no=1, lease_id="lease-job-1")
    now = now_ms()
    await dead.claim(key, owner="dead", until=now - 1, now=now - 10_000, directive=encode(lost))
    await dead.close()
    async with running(counting(log), lucius, tmp_path / "a.db"):
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
        lucius.deliver(lost)
        await lucius.until(lambda: len(lucius.of(ResultMessage)) == 2)
    first, again = lucius.of(ResultMessage)
    assert (first.status, first.error.code) == ("FAILED_RETRY", "SERVICE_CRASHED")
    assert first == again
    assert log.worked == []


async def test_a_stored_result_that_nobody_heard_is_told_by_the_next(tmp_path: Path) -> None:
    """A process that died between the work and its RESULT loses neither."""
    lucius, log = LuciusDouble(), Log()

    def silent(reply: Reply) -> Heard:
        if isinstance(reply, ResultMessage):
            raise asyncio.CancelledError  # the process ends here, as far as this attempt is concerned
        return Heard(verdict="accepted")

    lucius.answer = silent
    async with running(counting(log), lucius, tmp_path / "a.db", claim_seconds=0.1):
        lucius.deliver(directive(tmp_path))
        await lucius.until(lambda: log.worked == ["job-1/1"])
    lucius.answer = lambda _reply: Heard(verdict="accepted")
    async with running(counting(log), lucius, tmp_path / "a.db", claim_seconds=0.1):
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    assert [result.status for result in lucius.of(ResultMessage)] == ["SUCCEEDED"]
    assert log.worked == ["job-1/1"]


async def test_an_input_that_is_not_there_is_a_final_failure_with_names(tmp_path: Path) -> None:
    """A service in a protocol that does not feed it fails at once, and says what it was handed."""

    @service("COUNT")
    async def needy(step: Step[Wanted]) -> None:
        assert "ocr" not in step.inputs
        await step.inputs["ocr"].text()

    lucius = LuciusDouble()
    async with running(needy, lucius, tmp_path / "a.db"):
        text = {"uri": (tmp_path / "document.txt").as_uri()}
        lucius.deliver(directive(tmp_path, inputs={"scan": text}))
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    (result,) = lucius.of(ResultMessage)
    assert (result.status, result.error.code) == ("FAILED_FINAL", "INPUT_MISSING")
    assert "'ocr'" in result.error.message
    assert "scan" in result.error.message
