"""The lines between a process and its ports, and the post that loses, doubles and delays messages.

A call may be refused, or be carried out while its answer is lost. A process that is killed takes back nothing
of what is on its way: calls that have left it are carried out in the world outside.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol

from lucius.errors import LuciusError, Unavailable
from lucius.lifebook.core.run import Envelope
from lucius.lifebook.ports.queue import Delivery, RunQueue
from lucius.testing.lifebook.simulation_loop import SteppingLoop, outside
from lucius.testing.lifebook.simulation_plan import LATE, LOST, REFUSED, TWICE, UNHEARD
from lucius.testing.simulation.loop import nap


class Fates(Protocol):
    """Who decides what becomes of calls and messages."""

    def fate(self, port: str, now: float) -> str:
        """Of a call."""
        ...

    def handling(self) -> str:
        """Of a message."""
        ...

    def latency(self) -> float:
        """Seconds that a call takes."""
        ...

    def rest(self, seconds: float) -> float:
        """How long somebody rests who usually rests so long."""
        ...


class Line:
    """One port as one process sees it."""

    def __init__(self, inner: Any, port: str, loop: SteppingLoop, fates: Fates) -> None:
        self._inner = inner
        self._port = port
        self._loop = loop
        self._fates = fates
        self.down = False
        """The process is dead."""
        self.cut = False
        """This process alone reaches nothing."""
        self.about: Callable[[str, tuple[Any, ...]], None] = lambda _name, _given: None
        """Told of every call that goes out."""

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        found = getattr(self._inner, name)

        async def call(*given: Any, **named: Any) -> Any:
            if self.down:  # the `finally` of a killed task: nothing more goes out
                return None
            fate = REFUSED if self.cut else self._fates.fate(self._port, self._loop.time())
            await nap(self._fates.latency())
            if fate == REFUSED:
                raise Unavailable(f"{self._port} is cut off: {name}")
            self.about(name, given)
            work = self._loop.create_task(_kept(found(*given, **named)), context=outside())
            answer, error = await asyncio.shield(work)
            if fate == UNHEARD:
                raise Unavailable(f"the answer of {self._port} was lost: {name}")
            if error is not None:
                raise error
            return answer

        return call


async def _kept(work: Coroutine[Any, Any, Any]) -> tuple[Any, LuciusError | None]:
    """The outcome as a value: nobody may be left to hear of an error."""
    try:
        return await work, None
    except LuciusError as error:
        return None, error


class Post:
    """A queue that does to messages what queues do, and worse: lost, twice, late."""

    def __init__(self, inner: RunQueue, fates: Fates, lost: Callable[[str], None]) -> None:
        self._inner = inner
        self._fates = fates
        self._lost = lost

    async def send(self, envelope: Envelope, *, send_no: int, delay_seconds: float = 0) -> None:
        """Put a message in, perhaps."""
        fate = self._fates.handling()
        if fate == LOST:
            self._lost(envelope.job_id)
            return
        late = delay_seconds + (self._fates.rest(9.0) if fate == LATE else 0)
        await self._inner.send(envelope, send_no=send_no, delay_seconds=late)
        if fate == TWICE:
            await self._inner.send(envelope, send_no=send_no, delay_seconds=self._fates.rest(9.0))

    async def receive(self, limit: int, *, wait_seconds: float, hidden_seconds: float) -> Sequence[Delivery]:
        """What is there; whoever may wait waits a little."""
        found = await self._inner.receive(limit, wait_seconds=0, hidden_seconds=hidden_seconds)
        if not found and wait_seconds > 0:
            await nap(self._fates.rest(1.5))
        return found

    async def hide(self, delivery: Delivery, seconds: float) -> None:
        """As the queue does."""
        await self._inner.hide(delivery, seconds)

    async def delete(self, delivery: Delivery) -> None:
        """As the queue does."""
        await self._inner.delete(delivery)
