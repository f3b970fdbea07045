"""Virtual time for code that uses a thread for its file: the thread's work is one callback of the loop.

Time stands still between two calls of `settle`, `few` or `pass_time`; what waits for a later time keeps it.
"""

from __future__ import annotations

import asyncio
import heapq
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from typing import Any, TypeVar

from lucius.testing.simulation.loop import OWNER, VirtualLoop

T = TypeVar("T")
START = 1_769_508_120_000


class SteppingLoop(VirtualLoop):
    """An event loop that can be run a little at a time. What was killed stays so, whatever it waited for."""

    def __init__(self) -> None:
        super().__init__()
        self._killed: set[int] = set()
        self._frozen: dict[int, list[tuple[asyncio.Handle, int]]] = {}

    def clock(self) -> int:
        """Milliseconds since the epoch."""
        return START + round(self.time() * 1000)

    def run_in_executor(  # type: ignore[override]
        self, _executor: Any, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        """What a thread would do, done at once; whoever waits hears of it in the next callback."""
        future: asyncio.Future[T] = self.create_future()
        future.set_result(func(*args))
        return future

    def settle(self) -> None:
        """Everything that can happen without time passing."""
        self.run(lambda: False, self.time())

    def few(self, callbacks: int) -> None:
        """As `settle`, at most so many callbacks."""
        last = self.steps + callbacks
        self.run(lambda: self.steps >= last, self.time())

    def pass_time(self, seconds: float) -> None:
        """Everything that happens within so many seconds."""
        until = self.time() + seconds
        self.run(lambda: False, until)
        self._now = max(self._now, until)

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Run a callback when its turn comes, if its owner lives."""
        owner = OWNER.get() if context is None else context.get(OWNER, 0)
        if owner in self._killed or owner in self._frozen:
            handle = asyncio.Handle(callback, args, self, context)
            self._frozen.get(owner, []).append((handle, owner))
            return handle
        return super().call_soon(callback, *args, context=context)

    def kill(self, owner: int) -> None:
        """Nothing of this owner ever runs again."""
        self._killed.add(owner)
        self._frozen.pop(owner, None)
        for task in tuple(self._tasks.get(owner, ())):
            for _ in range(9):  # each `finally` of it that waits for something takes one more
                try:
                    task.get_coro().close()
                except RuntimeError:
                    continue
                break
        super().kill(owner)

    def freeze(self, owner: int) -> None:
        """Nothing of this owner runs until `thaw`: a machine that was put to sleep."""
        aside = self._frozen.setdefault(owner, [])
        aside += [item for item in self._ready if item[1] == owner]
        self._ready = deque(item for item in self._ready if item[1] != owner)

    def thaw(self, owner: int) -> None:
        """It wakes, and goes on as if nothing had been."""
        self._ready.extend(self._frozen.pop(owner, ()))

    def _jump(self, limit: float) -> bool:
        while self._timers and self._timers[0][0] <= limit:
            _, _, timer, owner = self._timers[0]
            if not timer.cancelled() and owner not in self._frozen:
                break
            heapq.heappop(self._timers)
            self._frozen.get(owner, []).append((timer, owner))
        return bool(self._timers) and self._timers[0][0] <= limit and super()._jump(limit)


def outside() -> Context:
    """A context of the world outside: what runs in it goes on when whoever asked is killed."""
    context = copy_context()
    context.run(OWNER.set, 0)
    return context
