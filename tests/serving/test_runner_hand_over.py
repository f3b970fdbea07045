"""What the schedules of test_runner_faults.py found, each as a test of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from lucius.errors import Unavailable
from lucius.sdk import Retryable, Service, Step, service
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.attempt import key_of
from lucius.sdk.serving.ports import AttemptKey, Heard, Overdue
from lucius.sdk.serving.replies import failed
from lucius.wire.messages import AckMessage, ResultMessage, encode
from tests.serving.world import PATIENCE, LuciusDouble, Reply, directive, made, now_ms, running

DAY = 86_400_000


class Held:
    """Work that goes on until it is let go."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.begun: list[str] = []
        self.ended: list[str] = []

    def service(self, concurrency: int = 1) -> Service[Any]:
        """The service that does it."""

        @service("COUNT", concurrency=concurrency)
        async def work(step: Step[dict[str, Any]]) -> None:
            self.begun.append(step.directive.job_id)
            try:
                await self.gate.wait()
            finally:
                self.ended.append(step.directive.job_id)

        return work


async def test_a_directive_that_comes_twice_before_its_ack_is_heard_is_settled_after_it(
    tmp_path: Path,
) -> None:
    """The second may be the first one again, under a new lock: settling it early would lose the directive."""
    lucius, held = LuciusDouble(), Held()
    held.gate.set()
    asked: list[Reply] = []
    back = asyncio.Event()

    def answer(reply: Reply) -> Heard:
        asked.append(reply)
        if not back.is_set():
            raise Unavailable("away, says the test")
        return Heard(verdict="accepted")

    lucius.answer = answer
    async with running(held.service(concurrency=4), lucius, tmp_path / "a.db"):
        locks = [lucius.deliver(directive(tmp_path))]
        await lucius.until(lambda: len(asked) == 1)
        locks.append(lucius.deliver(directive(tmp_path)))
        await lucius.until(lambda: lucius.waiting.empty() and len(asked) > 1)
        assert lucius.completed == []
        back.set()
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    assert lucius.completed == locks
    assert len(lucius.of(AckMessage)) == 1


async def test_a_directive_taken_ahead_twice_is_given_back_under_both_locks(tmp_path: Path) -> None:
    """What was not begun is nobody's yet, however often it came."""
    lucius, held = LuciusDouble(), Held()
    async with running(held.service(), lucius, tmp_path / "a.db") as runner:
        runner._ahead.took(0.001)
        lucius.deliver(directive(tmp_path, "job-1"))
        await lucius.until(lambda: held.begun == ["job-1"])
        locks = [lucius.deliver(directive(tmp_path, "job-2")) for _ in range(2)]
        await lucius.until(lambda: lucius.waiting.empty() and len(runner._held) == 1)
        runner.stop()
        await lucius.until(lambda: lucius.abandoned == locks)
        held.gate.set()
    assert held.begun == ["job-1"]


class OnceAway(SqliteAttempts):
    """A store whose first `finish` fails."""

    failed = False

    async def finish(self, key: AttemptKey, *, owner: str, result: bytes) -> bytes:
        """Fail once."""
        if not self.failed:
            self.failed = True
            raise Unavailable("away, says the test")
        return await super().finish(key, owner=owner, result=result)


async def test_a_store_that_is_away_while_a_dead_process_is_reported_ends_nothing(tmp_path: Path) -> None:
    """The attempt of the dead is told at a later look; the service goes on."""
    lucius, held = LuciusDouble(), Held()
    store, lost, now = OnceAway(tmp_path / "a.db"), directive(tmp_path), now_ms()
    await store.claim(key_of(lost), owner="dead", until=now - 1, now=now - 9, directive=encode(lost))
    runner = made(held.service(), lucius, store, claim_seconds=0.1)
    task = asyncio.create_task(runner.run())
    await lucius.until(lambda: task.done() or bool(lucius.of(ResultMessage)))
    runner.stop()
    await task
    await store.close()
    assert [result.error.code for result in lucius.of(ResultMessage)] == ["SERVICE_CRASHED"]


class Slept(SqliteAttempts):
    """A store whose callers always find that a day has gone by."""

    looks = 0
    found = 0

    async def take_overdue(self, *, owner: str, now: int, until: int, limit: int) -> list[Overdue]:
        """One look, a day later than the caller thinks."""
        taken = await super().take_overdue(owner=owner, now=now + DAY, until=until, limit=limit)
        self.looks += 1
        self.found += len(taken)
        return taken


async def test_work_that_goes_on_after_the_machine_slept_is_not_reported_dead(tmp_path: Path) -> None:
    """One's own claim may be overdue while one works: nothing is told of it until the work has ended."""
    lucius, held, store = LuciusDouble(), Held(), Slept(tmp_path / "a.db")
    runner = made(held.service(), lucius, store, claim_seconds=0.1)
    task = asyncio.create_task(runner.run())
    lucius.deliver(directive(tmp_path))
    await lucius.until(lambda: store.found > 0 and held.begun == ["job-1"])
    seen = store.looks
    await lucius.until(lambda: store.looks > seen)  # whatever was found before has been told by now
    held.gate.set()
    await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    runner.stop()
    await task
    await store.close()
    # once it has ended, a look that finds it overdue may tell the same again
    assert {result.status for result in lucius.of(ResultMessage)} == {"SUCCEEDED"}


async def test_who_lost_an_attempt_to_another_process_leaves_it_open(tmp_path: Path) -> None:
    """The taker may die before it told how the attempt ended; then somebody must find it."""
    lucius, held = LuciusDouble(), Held()
    other = SqliteAttempts(tmp_path / "a.db")
    async with running(held.service(), lucius, tmp_path / "a.db", claim_seconds=0.3):
        lucius.deliver(directive(tmp_path))
        await lucius.until(lambda: held.begun == ["job-1"])
        later = now_ms() + DAY
        (taken,) = await other.take_overdue(owner="taker", now=later, until=later + DAY, limit=9)
        await lucius.until(lambda: held.ended == ["job-1"])
    found = await other.take_overdue(owner="finder", now=later + 2 * DAY, until=later + 3 * DAY, limit=9)
    await other.close()
    assert [one.key for one in found] == [taken.key]
    assert lucius.of(ResultMessage) == []


async def test_a_result_that_another_process_stored_first_is_the_one_that_is_sent(tmp_path: Path) -> None:
    """Two processes that each answer for an attempt say the same."""
    lucius, held = LuciusDouble(), Held()
    other, given = SqliteAttempts(tmp_path / "a.db"), directive(tmp_path)
    async with running(held.service(), lucius, tmp_path / "a.db"):
        lucius.deliver(given)
        await lucius.until(lambda: held.begun == ["job-1"])
        crashed = failed(given, now_ms(), Retryable("SERVICE_CRASHED"))
        await other.finish(key_of(given), owner="taker", result=encode(crashed))
        held.gate.set()
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    await other.close()
    assert lucius.of(ResultMessage) == [crashed]


async def test_the_same_attempt_under_another_lease_is_another_piece_of_work(tmp_path: Path) -> None:
    """What is known of one lease says nothing about another."""
    lucius, held = LuciusDouble(), Held()
    held.gate.set()
    async with running(held.service(), lucius, tmp_path / "a.db"):
        for lease in ("lease-1", "lease-2"):
            lucius.deliver(directive(tmp_path, lease_id=lease))
        await lucius.until(lambda: len(lucius.of(ResultMessage)) == 2)
    assert held.begun == ["job-1", "job-1"]
    assert [result.lease_id for result in lucius.of(ResultMessage)] == ["lease-1", "lease-2"]


async def test_work_that_is_slow_to_stop_does_not_keep_a_process_whose_time_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the last words nothing more is told, so a Lucius that is away cannot hold up the end."""
    monkeypatch.setattr("lucius.sdk.serving.runner.LAST_WORDS", 0.05)
    lucius = LuciusDouble()
    begun, never = asyncio.Event(), asyncio.Event()

    def answer(reply: Reply) -> Heard:
        if isinstance(reply, ResultMessage):
            raise Unavailable("away, says the test")
        return Heard(verdict="accepted")

    @service("COUNT")
    async def slow(step: Step[dict[str, Any]]) -> None:
        begun.set()
        try:
            await never.wait()
        finally:
            await never.wait()

    lucius.answer = answer
    left = SqliteAttempts(tmp_path / "a.db")
    runner = made(slow, lucius, left, drain_seconds=0.05)
    task = asyncio.create_task(runner.run())
    lucius.deliver(directive(tmp_path))
    await begun.wait()
    runner.stop()
    await asyncio.wait([task], timeout=PATIENCE)
    assert task.done(), "the process does not end"
    (found,) = await left.take_overdue(owner="next", now=now_ms() + DAY, until=now_ms() + DAY, limit=9)
    await left.close()
    assert found.result is None
