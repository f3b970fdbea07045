"""An event loop in virtual time.

State: callbacks that are ready, in the order they became so, and timers. One callback runs at a time;
when none is ready the clock jumps to the next timer. Every callback belongs to whoever was running when
it was scheduled (`OWNER`), so `kill` can take everything of one owner away between two callbacks: what
a kill -9 does to a process, at any `await`.

How it fails: an exception nobody caught is kept in `errors`.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
from collections import deque
from contextvars import Context, ContextVar
from itertools import count
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

T = TypeVar("T")

OWNER: ContextVar[int] = ContextVar("owner", default=0)
"""Whose code runs: 0 is the outside world, every life of Lucius has a number of its own."""


class VirtualLoop(asyncio.AbstractEventLoop):
    """As much of an event loop as code without sockets needs."""

    def __init__(self) -> None:
        self._now = 0.0
        self._ready: deque[tuple[asyncio.Handle, int]] = deque()
        self._timers: list[tuple[float, int, asyncio.TimerHandle, int]] = []
        self._numbers = count()
        self._tasks: dict[int, dict[asyncio.Task[Any], None]] = {}
        self.steps = 0
        self.alarms: dict[int, Callable[[], None]] = {}
        """Called between two callbacks, after so many of them."""
        self.errors: list[str] = []

    def time(self) -> float:
        """Seconds since the beginning."""
        return self._now

    def call_soon(  # type: ignore[override]  # any callback will do here
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Run a callback when its turn comes."""
        handle = asyncio.Handle(callback, args, self, context)
        self._ready.append((handle, _owner(context)))
        return handle

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback after so many seconds."""
        return self.call_at(self._now + max(0.0, delay), callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        """Run a callback at that time."""
        timer = asyncio.TimerHandle(when, callback, args, self, context)
        heapq.heappush(self._timers, (when, next(self._numbers), timer, _owner(context)))
        return timer

    def create_future(self) -> asyncio.Future[Any]:
        """A future of this loop."""
        return asyncio.Future(loop=self)

    def create_task(  # type: ignore[override]
        self, coro: Coroutine[Any, Any, T], *, name: str | None = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        """Start a task; it belongs to the owner of its context."""
        owner = _owner(context)
        task = asyncio.Task(coro, loop=self, name=name, context=context)
        mine = self._tasks.setdefault(owner, {})
        mine[task] = None
        task.add_done_callback(lambda done: mine.pop(done, None))
        return task

    def start(self, coro: Coroutine[Any, Any, None]) -> None:
        """Start a task that nobody waits for; it belongs to the outside world."""
        mine = self.create_task(coro)
        mine.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self.errors.append(f"a task of the outside world ended with {task.exception()!r}")

    def get_debug(self) -> bool:
        """Never."""
        return False

    def is_running(self) -> bool:
        """True inside `run`."""
        return True

    def is_closed(self) -> bool:
        """Never: it is dropped."""
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Keep what nobody caught."""
        self.errors.append(f"{context.get('message')}: {context.get('exception')!r}")

    def _timer_handle_cancelled(self, _: asyncio.TimerHandle) -> None:
        """Cancelled timers fall out when their time comes."""

    def run(self, until: Callable[[], bool], limit: float) -> bool:
        """Run until the condition holds; False if virtual time reaches the limit, or nothing is left."""
        asyncio._set_running_loop(self)  # noqa: SLF001 - this is what an event loop does
        try:
            while not until():
                if not self._ready and not self._jump(limit):
                    return False
                handle, _ = self._ready.popleft()
                if not handle.cancelled():
                    handle._run()  # noqa: SLF001
                self.steps += 1
                if self.alarms and (alarm := self.alarms.pop(self.steps, None)) is not None:
                    alarm()
            return True
        finally:
            asyncio._set_running_loop(None)  # noqa: SLF001

    def kill(self, owner: int) -> None:
        """Nothing of this owner ever runs again."""
        for task in tuple(self._tasks.pop(owner, ())):
            task._log_destroy_pending = False  # type: ignore[attr-defined]  # noqa: SLF001
            with contextlib.suppress(RuntimeError):
                task.get_coro().close()
        self._ready = deque(item for item in self._ready if item[1] != owner)
        self._timers = [item for item in self._timers if item[3] != owner]
        heapq.heapify(self._timers)

    def _jump(self, limit: float) -> bool:
        while self._timers:
            when, _, timer, owner = heapq.heappop(self._timers)
            if timer.cancelled():
                continue
            if when > limit:
                return False
            self._now = max(self._now, when)
            self._ready.append((timer, owner))
            return True
        return False


def _owner(context: Context | None) -> int:
    return OWNER.get() if context is None else context.get(OWNER, 0)


async def nap(seconds: float) -> None:
    """Let virtual time pass."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    timer = loop.call_later(seconds, _wake, future)
    try:
        await future
    finally:
        timer.cancel()


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
