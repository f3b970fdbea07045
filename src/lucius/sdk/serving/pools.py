"""Processes for work that computes: one for each attempt that asks, so that heartbeats go on meanwhile.

State: a fixed number of slots, each with a child process once it was needed; an attempt keeps its slot
to its end, so what a function caches in its module is there again at the next call. A child that dies
fails the attempt (`WORKER_DIED`, retryable) and is made anew; a call whose attempt was lost ends its
child, because nothing else stops a computation. Children end when their parent does, however it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import pickle
import signal
import threading
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor
from types import TracebackType
from typing import Any, Self

from lucius.sdk.serving.outcomes import Retryable
from lucius.sdk.serving.replies import described


class Processes:
    """As many child processes as attempts run at a time, each made when it is first needed."""

    def __init__(self, size: int) -> None:
        self._free: asyncio.LifoQueue[_Child] = asyncio.LifoQueue()
        self._all = [_Child() for _ in range(size)]
        for child in self._all:
            self._free.put_nowait(child)

    def hand(self) -> Hand:
        """What one attempt runs functions with."""
        return Hand(self._free)

    def close(self) -> None:
        """End all children."""
        for child in self._all:
            child.end()


class Hand:
    """One attempt's way to a process; takes one at the first call and gives it back at the end."""

    def __init__(self, free: asyncio.Queue[_Child]) -> None:
        self._free = free
        self._child: _Child | None = None
        self._one = asyncio.Lock()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._child is not None:
            self._free.put_nowait(self._child)

    async def __call__(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
        """What the function returned in the other process, or what it raised."""
        async with self._one:
            if self._child is None:
                self._child = await self._free.get()
                await self._child.look()
            return await self._child.call(function, *arguments)


class _Child:
    """One process, or none yet."""

    def __init__(self) -> None:
        self._executor: ProcessPoolExecutor | None = None
        self._pid = 0

    async def look(self) -> None:
        """Forget a process that died while it had nothing to do: that is no fault of the next attempt."""
        if self._executor is None:
            return
        try:
            await asyncio.get_running_loop().run_in_executor(self._executor, os.getpid)
        except BrokenExecutor:
            self.end(dead=True)
        except asyncio.CancelledError:
            self.end()
            raise

    async def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        loop = asyncio.get_running_loop()
        try:
            executor = await self._begin(loop)
            return await loop.run_in_executor(executor, sheltered, function, *arguments)
        except BrokenExecutor:
            self.end(dead=True)
            name = getattr(function, "__name__", "the work")
            message = f"The process that ran {name} ended; it may have run out of memory."
            raise Retryable("WORKER_DIED", message) from None
        except asyncio.CancelledError:
            self.end()
            raise

    async def _begin(self, loop: asyncio.AbstractEventLoop) -> ProcessPoolExecutor:
        if self._executor is None:
            # A fork of a process with threads may hang; a spawned child starts clean.
            context = multiprocessing.get_context("spawn")
            self._executor = ProcessPoolExecutor(1, mp_context=context, initializer=_settle_in)
        if not self._pid:
            self._pid = await loop.run_in_executor(self._executor, os.getpid)
        return self._executor

    def end(self, *, dead: bool = False) -> None:
        """Let go of the process. `dead`: it is gone, and its number may be somebody else's by now."""
        executor, pid = self._executor, self._pid
        self._executor, self._pid = None, 0
        if pid and not dead:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)


def sheltered(function: Callable[..., Any], *arguments: Any) -> Any:
    """In the child: the function, with every exception made one that comes back as what it is.

    One that pickle cannot make again would count as the death of this process, and `sys.exit()` would end
    the service in place of the work.
    """
    try:
        return function(*arguments)
    except Exception as error:
        if _comes_back(error):
            raise
        told = described(error)
    except BaseException as error:  # noqa: BLE001 - told as a failure of the work
        told = described(error)
    raise RuntimeError(told)


def _comes_back(error: Exception) -> bool:
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - made in this line
    except Exception:  # noqa: BLE001 - whatever it is, it would happen in the parent too
        return False
    return True


def _settle_in() -> None:
    """In the child: leave signals to the parent, and end when it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
