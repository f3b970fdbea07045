from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

from lucius.sdk import Artifact, Service, Step, service
from lucius.sdk.serving.ahead import Ahead
from lucius.sdk.serving.ports import Heard
from lucius.wire.messages import HeartbeatMessage, ResultMessage
from lucius.wire.timestamps import iso
from tests.serving.world import LuciusDouble, Reply, directive, now_ms, running


class Slow:
    """Work that goes on until it is let go, and notes how it ended."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.gate = asyncio.Event()
        self.ended: list[str] = []

    def service(self, concurrency: int = 1, limit: float | None = None) -> Service[Any]:
        """The service that does it."""

        @service("COUNT", concurrency=concurrency, time_limit=limit)
        async def work(step: Step[dict[str, Any]]) -> Artifact:
            self.begun.set()
            try:
                while not self.gate.is_set():
                    step.progress(0.5, "half of it")
                    await asyncio.sleep(0.01)
            except BaseException as error:
                self.ended.append(type(error).__name__)
                raise
            self.ended.append("done")
            return await step.workspace.write("out.txt", step.directive.job_id)

        return work


def short_lease(tmp_path: Path, job_id: str = "job-1", **given: Any):
    """A directive whose lease needs heartbeats soon."""
    return directive(tmp_path, job_id, lease_expires_at=iso(now_ms() + 300), **given)


def leased(reply: Reply) -> Heard:
    """Accepted, and the lease begins anew."""
    return Heard(verdict="accepted", lease_expires_at=now_ms() + 300)


async def test_heartbeats_come_while_the_work_goes_on_and_carry_its_progress(tmp_path: Path) -> None:
    """A lease of 0.3 s is kept for as long as the work takes."""
    lucius, slow = LuciusDouble(), Slow()
    lucius.answer = leased
    async with running(slow.service(), lucius, tmp_path / "a.db"):
        lucius.deliver(short_lease(tmp_path))
        await lucius.until(lambda: len(lucius.of(HeartbeatMessage)) >= 5)
        slow.gate.set()
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    beats = lucius.of(HeartbeatMessage)
    assert {(beat.progress, beat.message) for beat in beats} == {(0.5, "half of it")}
    assert lucius.of(ResultMessage)[0].status == "SUCCEEDED"


async def test_a_lost_lease_stops_the_work_and_nothing_is_told(tmp_path: Path) -> None:
    """Whose attempt was given to somebody else throws its work away, and takes the next."""
    lucius, slow = LuciusDouble(), Slow()
    lucius.answer = lambda reply: (
        Heard(verdict="stale_lease") if isinstance(reply, HeartbeatMessage) and reply.job_id == "job-1"
        else leased(reply)
    )  # fmt: skip
    async with running(slow.service(), lucius, tmp_path / "a.db"):
        lucius.deliver(short_lease(tmp_path))
        await lucius.until(lambda: slow.ended == ["CancelledError"])
        slow.gate.set()
        lucius.deliver(short_lease(tmp_path, "job-2"))
        await lucius.until(lambda: bool(lucius.of(ResultMessage, "job-2")))
    assert lucius.of(ResultMessage, "job-1") == []


async def test_a_cancelled_job_stops_the_work_at_its_next_progress(tmp_path: Path) -> None:
    """The cancel token is set by the answer to a heartbeat; the RESULT says CANCELLED."""
    lucius, slow = LuciusDouble(), Slow()
    lucius.answer = lambda _reply: Heard(
        verdict="accepted",
        lease_expires_at=now_ms() + 300,
        cancel_requested=isinstance(_reply, HeartbeatMessage),
    )
    async with running(slow.service(), lucius, tmp_path / "a.db"):
        lucius.deliver(short_lease(tmp_path))
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    assert slow.ended == ["Cancelled"]
    (result,) = lucius.of(ResultMessage)
    assert (result.status, result.error.code) == ("FAILED_FINAL", "CANCELLED")


async def test_a_stop_lets_running_work_finish_and_gives_back_the_rest(tmp_path: Path) -> None:
    """Drain: what runs is reported, what was only taken ahead goes back unacknowledged."""
    lucius, slow = LuciusDouble(), Slow()
    runner_service = slow.service()
    async with running(runner_service, lucius, tmp_path / "a.db") as runner:
        runner._ahead.took(0.001)  # short work so far, so more is taken than fits
        first = lucius.deliver(directive(tmp_path, "job-1"))
        others = [lucius.deliver(directive(tmp_path, f"job-{n}")) for n in (2, 3)]
        await slow.begun.wait()
        await lucius.until(lambda: lucius.waiting.empty() and len(runner._held) == 2)
        runner.stop()
        await lucius.until(lambda: sorted(lucius.abandoned) == others)
        slow.gate.set()
        await lucius.until(lambda: bool(lucius.of(ResultMessage, "job-1")))
    assert lucius.completed == [first]
    assert {reply.job_id for reply in lucius.replies} == {"job-1"}
    assert lucius.of(ResultMessage)[0].status == "SUCCEEDED"


async def test_work_that_outlasts_the_drain_is_reported_as_stopped(tmp_path: Path) -> None:
    """A stop that cannot wait says so, so that another process takes the next attempt soon."""
    lucius, slow = LuciusDouble(), Slow()
    async with running(slow.service(), lucius, tmp_path / "a.db", drain_seconds=0.05):
        lucius.deliver(directive(tmp_path))
        await slow.begun.wait()
    (result,) = lucius.of(ResultMessage)
    assert (result.status, result.error.code) == ("FAILED_RETRY", "SERVICE_STOPPED")


async def test_work_beyond_its_time_limit_is_ended(tmp_path: Path) -> None:
    """A service may bound its own attempts."""
    lucius, slow = LuciusDouble(), Slow()
    async with running(slow.service(limit=0.05), lucius, tmp_path / "a.db"):
        lucius.deliver(directive(tmp_path))
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    assert lucius.of(ResultMessage)[0].error.code == "TIME_LIMIT"


def compute(seconds: float) -> int:
    """Keep a processor busy."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass
    return os.getpid()


@service("COUNT")
async def computing(step: Step[dict[str, Any]]) -> Artifact:
    """Two long computations in one process."""
    pids = {await step.in_process(compute, step.payload["seconds"]) for _ in range(2)}
    return await step.workspace.write_json("pids.json", sorted(pids))


async def test_a_computation_in_a_process_does_not_hold_up_heartbeats(tmp_path: Path) -> None:
    """Heartbeats go on while a processor is busy, and both calls of an attempt meet the same process."""
    lucius = LuciusDouble()
    lucius.answer = leased
    async with running(computing, lucius, tmp_path / "a.db"):
        lucius.deliver(short_lease(tmp_path, payload={"seconds": 0.6}))
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    (result,) = lucius.of(ResultMessage)
    assert result.status == "SUCCEEDED"
    assert len(lucius.of(HeartbeatMessage)) >= 3
    assert Path(result.output_ref["uri"].removeprefix("file://")).read_text().count(",") == 0


@service("COUNT")
async def dying(step: Step[dict[str, Any]]) -> None:
    """A computation that ends its process."""
    await step.in_process(os.kill, await step.in_process(os.getpid), signal.SIGKILL)


async def test_a_process_that_dies_fails_its_attempt_alone(tmp_path: Path) -> None:
    """A crash in native code costs one attempt; the service goes on."""
    lucius = LuciusDouble()
    async with running(dying, lucius, tmp_path / "a.db"):
        lucius.deliver(directive(tmp_path, "job-1"))
        lucius.deliver(directive(tmp_path, "job-2"))
        await lucius.until(lambda: len(lucius.of(ResultMessage)) == 2)
    assert [result.error.code for result in lucius.of(ResultMessage)] == ["WORKER_DIED", "WORKER_DIED"]


async def test_a_plain_function_runs_in_a_thread_and_can_be_cancelled(tmp_path: Path) -> None:
    """`def` services block a thread, not the heartbeats, and stop at their next progress."""
    lucius = LuciusDouble()
    lucius.answer = lambda reply: Heard(
        verdict="accepted",
        lease_expires_at=now_ms() + 300,
        cancel_requested=isinstance(reply, HeartbeatMessage),
    )
    threads: list[str] = []

    @service("COUNT")
    def blocking(step: Step[dict[str, Any]]) -> None:
        threads.append(threading.current_thread().name)
        while True:
            step.progress(0.1)
            step.cancel.wait(0.02)

    async with running(blocking, lucius, tmp_path / "a.db"):
        lucius.deliver(short_lease(tmp_path))
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    assert lucius.of(ResultMessage)[0].error.code == "CANCELLED"
    assert threads != [threading.main_thread().name]


async def test_a_tenant_with_much_does_not_hold_up_one_with_little(tmp_path: Path) -> None:
    """Of what is held, tenants take turns."""
    lucius = LuciusDouble()
    order: list[str] = []
    gate = asyncio.Event()

    @service("COUNT")
    async def noting(step: Step[dict[str, Any]]) -> None:
        order.append(step.tenant_id)
        await gate.wait()

    async with running(noting, lucius, tmp_path / "a.db") as runner:
        runner._ahead.took(0.001)
        for number in range(8):
            lucius.deliver(directive(tmp_path, f"big-{number}", tenant_id="big"))
        lucius.deliver(directive(tmp_path, "small-1", tenant_id="small"))
        await lucius.until(lambda: len(runner._held) == 8)
        gate.set()
        await lucius.until(lambda: len(lucius.of(ResultMessage)) == 9)
    assert order.index("small") <= 2


def test_long_work_takes_nothing_ahead() -> None:
    """What cannot be begun soon is left for others; short work is fetched in batches."""
    ahead = Ahead(2, 16)
    assert ahead.room(0, 0) == 2
    for _ in range(20):
        ahead.took(0.01)
    assert ahead.room(2, 0) == 16
    assert (ahead.room(2, 10), ahead.room(2, 8)) == (0, 8)
    for _ in range(40):
        ahead.took(30.0)
    assert ahead.room(2, 0) == 0
    assert ahead.room(1, 0) == 1


async def test_a_job_cancelled_before_the_work_begins_is_not_begun(tmp_path: Path) -> None:
    """The answer to the ACK may already say so: CANCELLED is reported and `execute` never called."""
    lucius, slow = LuciusDouble(), Slow()
    lucius.answer = lambda _reply: Heard(verdict="accepted", cancel_requested=True)
    async with running(slow.service(), lucius, tmp_path / "a.db"):
        lucius.deliver(directive(tmp_path))
        await lucius.until(lambda: bool(lucius.of(ResultMessage)))
    assert not slow.begun.is_set()
    (result,) = lucius.of(ResultMessage)
    assert (result.status, result.error.code) == ("FAILED_FINAL", "CANCELLED")
