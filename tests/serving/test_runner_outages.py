from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lucius.errors import Unauthenticated, Unavailable
from lucius.sdk import Step, service
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.ports import AttemptKey, Found, Lent
from lucius.testing.processes import alive
from lucius.wire.messages import HeartbeatMessage, ResultMessage
from tests.serving.world import LuciusDouble, directive, made, running


class FullStore(SqliteAttempts):
    """A store on a disk that is full for the first few claims."""

    full_for = 2

    async def claim(self, key: AttemptKey, **given: Any) -> Found:
        """Refused while there is no room."""
        if self.full_for:
            self.full_for -= 1
            raise Unavailable("no room, says the test", code="ATTEMPTS_UNAVAILABLE")
        return await super().claim(key, **given)


async def test_a_service_whose_store_is_away_hardly_asks_for_work(tmp_path: Path) -> None:
    """What it cannot remember it leaves to others: one directive at a time, to see if the store is back."""
    lucius = LuciusDouble()

    @service("COUNT", concurrency=3)
    async def work(_step: Step[dict[str, Any]]) -> None:
        return None

    attempts = FullStore(tmp_path / "a.db")
    runner = made(work, lucius, attempts)
    task = asyncio.create_task(runner.run())
    for tries in (1, 2):
        lucius.deliver(directive(tmp_path))
        await lucius.until(lambda tries=tries: len(lucius.abandoned) == tries)  # type: ignore[misc]
        await lucius.until(lambda: lucius.asked[-1] == 1)
        assert runner.store_away
    lucius.deliver(directive(tmp_path))
    await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    await lucius.until(lambda: lucius.asked[-1] > 1)
    assert not runner.store_away
    runner.stop()
    await task
    await attempts.close()


class Locked(LuciusDouble):
    """A Lucius that forgets the service's key after its first directive."""

    async def receive(self, step_types: Sequence[str], *, limit: int, wait: float) -> list[Lent]:
        """The first directive, then no."""
        if self.asked:
            self.asked.append(limit)
            raise Unauthenticated("revoked, says the test")
        return await super().receive(step_types, limit=limit, wait=30)


async def test_a_revoked_key_lets_running_work_end_before_the_process(tmp_path: Path) -> None:
    """Callbacks need no key: the work is finished and told, then the service says why it ends."""
    lucius, gate = Locked(), asyncio.Event()

    @service("COUNT", concurrency=2)
    async def work(_step: Step[dict[str, Any]]) -> None:
        await gate.wait()

    attempts = SqliteAttempts(tmp_path / "a.db")
    task = asyncio.create_task(made(work, lucius, attempts).run())
    lucius.deliver(directive(tmp_path))
    await lucius.until(lambda: len(lucius.asked) > 1)
    gate.set()
    with pytest.raises(Unauthenticated):
        await task
    await attempts.close()
    assert [result.status for result in lucius.of(ResultMessage)] == ["SUCCEEDED"]


async def test_one_who_is_at_work_hears_from_lucius_by_its_heartbeats(tmp_path: Path) -> None:
    """Readiness goes by the last answer of any kind: a service with no place free asks for nothing."""
    lucius = LuciusDouble()
    heard: list[int | None] = []

    @service("COUNT")
    async def work(step: Step[dict[str, Any]]) -> None:
        heard.append(runner.last_heard())
        step.progress(0.5, "half")
        await lucius.until(lambda: bool(lucius.of(HeartbeatMessage)))
        await lucius.until(lambda: runner.last_heard() != heard[0])

    async with running(work, lucius, tmp_path / "a.db") as runner:
        lucius.deliver(directive(tmp_path))
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    assert heard[0] is not None
    assert (runner.last_heard() or 0) > heard[0]


async def test_a_process_that_died_at_rest_costs_no_attempt(tmp_path: Path) -> None:
    """Between two attempts the system ends the child, for want of memory: the next one gets another."""
    lucius, pids = LuciusDouble(), []

    @service("COUNT")
    async def work(step: Step[dict[str, Any]]) -> None:
        pids.append(await step.in_process(os.getpid))

    async with running(work, lucius, tmp_path / "a.db"):
        lucius.deliver(directive(tmp_path, "first"))
        await lucius.until(lambda: bool(lucius.of(ResultMessage, "first")))
        os.kill(pids[0], signal.SIGKILL)
        await lucius.until(lambda: not alive(pids[0]))
        lucius.deliver(directive(tmp_path, "second"))
        await lucius.until(lambda: bool(lucius.of(ResultMessage, "second")))
    assert [result.status for result in lucius.of(ResultMessage)] == ["SUCCEEDED", "SUCCEEDED"]
    assert len(set(pids)) == 2
