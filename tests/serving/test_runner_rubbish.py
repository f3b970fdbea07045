from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lucius.sdk import Step, service
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.attempt import key_of
from lucius.sdk.serving.outcomes import Output
from lucius.sdk.serving.replies import succeeded
from lucius.wire.messages import HeartbeatMessage, ResultMessage, encode
from tests.serving.rubbish import KINDS, Fraction32, artifact
from tests.serving.world import LuciusDouble, directive, running


@pytest.mark.parametrize("kind", KINDS)
async def test_whatever_work_raises_or_returns_ends_its_own_attempt_and_no_other(
    tmp_path: Path, kind: str
) -> None:
    """One attempt goes wrong in a strange way: it is reported, and its neighbour ends well."""
    strange, (status, code) = KINDS[kind]
    lucius, gate = LuciusDouble(), asyncio.Event()

    @service("COUNT", concurrency=2)
    async def work(step: Step[dict[str, Any]]) -> Any:
        if step.directive.job_id == "strange":
            return await strange(step)
        await gate.wait()
        return None

    async with running(work, lucius, tmp_path / "a.db"):
        lucius.deliver(directive(tmp_path, "neighbour"))
        lucius.deliver(directive(tmp_path, "strange"))
        await lucius.until(lambda: bool(lucius.of(ResultMessage, "strange")))
        gate.set()
        await lucius.until(lambda: bool(lucius.of(ResultMessage, "neighbour")))
    (result,) = lucius.of(ResultMessage, "strange")
    assert (result.status, result.error.code) == (status, code)
    assert [each.status for each in lucius.of(ResultMessage, "neighbour")] == ["SUCCEEDED"]


async def test_a_stored_result_that_cannot_be_read_does_not_stop_the_next_start(tmp_path: Path) -> None:
    """What an earlier process stored and Lucius could never take is reported as a failure, once."""
    lucius, store, given = LuciusDouble(), tmp_path / "a.db", directive(tmp_path)
    attempts = SqliteAttempts(store)
    await attempts.claim(key_of(given), owner="earlier", until=1, now=1, directive=encode(given))
    broken = encode(succeeded(given, 1, Output(output=artifact(uri="a file"))))
    await attempts.finish(key_of(given), owner="earlier", result=broken)
    await attempts.close()

    @service("COUNT")
    async def work(_step: Step[dict[str, Any]]) -> None:
        return None

    async with running(work, lucius, store):
        await lucius.until(lambda: bool(lucius.of(ResultMessage, "job-1")))
        lucius.deliver(directive(tmp_path, "next"))
        await lucius.until(lambda: bool(lucius.of(ResultMessage, "next")))
    (result,) = lucius.of(ResultMessage, "job-1")
    assert (result.status, result.error.code) == ("FAILED_FINAL", "RESULT_REFUSED")


async def test_progress_takes_numbers_and_words_of_other_libraries(tmp_path: Path) -> None:
    """A fraction that is no float and a message that is no text are told like any other."""
    lucius = LuciusDouble()

    @service("COUNT")
    async def work(step: Step[dict[str, Any]]) -> None:
        step.progress(Fraction32(), Path("page.png"))  # type: ignore[arg-type]
        await lucius.until(lambda: bool(lucius.of(HeartbeatMessage)))

    async with running(work, lucius, tmp_path / "a.db"):
        lucius.deliver(directive(tmp_path))
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    beat = lucius.of(HeartbeatMessage)[0]
    assert encode(beat)
    assert (beat.progress, beat.message) == (0.25, "page.png")
    assert lucius.of(ResultMessage)[0].status == "SUCCEEDED"
