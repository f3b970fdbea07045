"""A process: code that can be killed at any await, and calls that reach it or do not.

A request travels outside of both processes, so it may arrive after its sender has died or given up. Its
answer may be lost. The caller then knows nothing: `GoneError`.
"""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import TYPE_CHECKING, Any, TypeVar

from lucius.errors import LuciusError, Unavailable
from lucius.testing.simulation.life import GoneError
from lucius.testing.simulation.loop import OWNER, VirtualLoop, nap

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine
    from contextvars import Context

    from lucius.core.admission import Limits
    from lucius.core.commands import Command, Reply
    from lucius.ports.duties import Duty
    from lucius.ports.engine import Answer
    from lucius.ports.invoker import Advance, Advanced, Attempted
    from lucius.testing.simulation.temporal.schedule import World

T = TypeVar("T")
CALL = 20.0
"""Seconds that a caller waits for an answer; longer than an activity may take."""


class Loop(VirtualLoop):
    """The loop of several processes: what outlives one of them may still call back, and is not heard."""

    def __init__(self) -> None:
        super().__init__()
        self._gone: set[int] = set()

    def call_soon(  # type: ignore[override]  # any callback will do here
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Run a callback when its turn comes, if whoever wants it still lives."""
        owner = OWNER.get() if context is None else context.get(OWNER, 0)
        if owner in self._gone:
            return asyncio.Handle(callback, args, self, context)
        return super().call_soon(callback, *args, context=context)

    def kill(self, owner: int) -> None:
        """Nothing of this owner ever runs again."""
        self._gone.add(owner)
        super().kill(owner)


class Process:
    """One of several."""

    def __init__(self, world: World, number: int) -> None:
        self.number = number
        self.dead = False
        self._world = world
        self._loop = world.loop
        self._open: set[asyncio.Future[Any]] = set()
        self.context = copy_context()
        self.context.run(OWNER.set, number)

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run it as a part of this process."""
        task = self._loop.create_task(work, context=self.context.copy())
        task.add_done_callback(self._ended)

    def kill(self) -> None:
        """End at once."""
        self.dead = True
        self._loop.kill(self.number)
        for future in tuple(self._open):
            if not future.done():
                future.set_exception(GoneError())
                future.exception()

    async def serve(self, work: Callable[[], Awaitable[T]]) -> T:
        """Answer a request; called outside."""
        future: asyncio.Future[Any] = self._loop.create_future()
        self._open.add(future)
        self.spawn(self._answer(work, future))
        try:
            answer: T = await future
            return answer
        finally:
            self._open.discard(future)

    async def _answer(self, work: Callable[[], Awaitable[T]], future: asyncio.Future[T]) -> None:
        try:
            answer = await work()
        except LuciusError as error:
            if not future.done():
                future.set_exception(error)
                future.exception()
        else:
            if not future.done():
                future.set_result(answer)

    async def rounds(self, duty: Duty) -> None:
        """Do a duty for ever, as the runtime does: what is away now is tried in the next round."""
        while True:
            try:
                await duty.run_once()
            except LuciusError as error:
                if not error.retryable:
                    raise
            await nap(duty.interval)

    def _ended(self, task: asyncio.Task[None]) -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._world.watch.note(f"L1 a part of a process ended with {error!r}")


def _lose(lost: bool) -> None:  # noqa: FBT001
    if lost:
        raise GoneError


async def _reach(found: Process | None, lost: bool, work: Callable[[Any], Awaitable[T]]) -> T:  # noqa: FBT001
    if found is None or lost:
        raise GoneError
    return await found.serve(lambda: work(found))


async def ask(world: World, find: Callable[[], Process | None], work: Callable[[Any], Awaitable[T]]) -> T:
    """Send a request to whoever is found when it arrives; raises `GoneError` without an answer."""
    answer: asyncio.Future[T] = world.loop.create_future()

    async def carry() -> None:
        plan = world.plan
        late = plan.chance(plan.call_faults / 4)
        await nap(plan.random.uniform(1.0, 40.0) if late else plan.latency())
        found = find()
        try:
            told = await _reach(found, plan.chance(plan.call_faults / 4), work)
            await nap(plan.latency())
            _lose(plan.chance(plan.call_faults / 2))
        except (GoneError, LuciusError) as error:
            if not answer.done():
                answer.set_exception(error)
                answer.exception()  # whoever asked may be dead
        else:
            if not answer.done():
                answer.set_result(told)

    world.outside(world.loop.start, carry())
    try:
        async with asyncio.timeout(CALL):
            return await answer
    except TimeoutError:
        raise GoneError from None


class FarInvoker:
    """The invoker port over a network; any of the invokers that live may answer."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def advance(self, asked: Advance) -> Advanced:
        """Far away."""
        return await self._ask(lambda invoker: invoker.desk.advance(asked))

    async def attempt(self, minted: Attempted) -> Advanced:
        """Far away."""
        return await self._ask(lambda invoker: invoker.desk.attempt(minted))

    async def publish(self, lane: int, directive: bytes) -> None:
        """Far away."""
        return await self._ask(lambda invoker: invoker.desk.publish(lane, directive))

    async def report(self, tenant_id: str, job_id: str, reply: Reply) -> Answer:
        """Far away."""
        return await self._ask(lambda invoker: invoker.report(tenant_id, job_id, reply))

    async def control(self, job_id: str, command: Command, limits: Limits) -> Answer:
        """Far away."""
        return await self._ask(lambda invoker: invoker.desk.control(job_id, command, limits))

    async def republish(self, job_ids: list[str]) -> int:
        """Far away."""
        return await self._ask(lambda invoker: invoker.desk.republish(job_ids))

    async def _ask(self, work: Callable[[Any], Awaitable[T]]) -> T:
        try:
            return await ask(self._world, self._world.some_invoker, work)
        except GoneError:
            raise Unavailable("no invoker answers", code="INVOKER_UNAVAILABLE") from None
