"""The local worker: takes messages from the queue, as many at once as it may, until it is told to stop.

While store or queue are away it waits, longer each time, and takes nothing: a message that is received and
cannot be judged has used up one of its receives. A stop finishes the steps in flight and hands the rest on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from lucius.errors import Unavailable
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.ports.queue import Delivery, RunQueue
from lucius.lifebook.worker.holding import MARGIN_SECONDS
from lucius.lifebook.worker.lines import about_message
from lucius.lifebook.worker.worker import Worker

LONGEST_PAUSE = 30.0
_log = structlog.get_logger("lucius.lifebook")


class Poller:
    """Several runs at once, each from its message to its end."""

    def __init__(
        self,
        worker: Worker,
        queue: RunQueue,
        *,
        policy: Policy,
        sleep: Callable[[float], Awaitable[None]],
        concurrency: int = 4,
        wait_seconds: float = 1.0,
    ) -> None:
        self._worker = worker
        self._queue = queue
        self._hidden = policy.lease / 1000 + MARGIN_SECONDS
        self._sleep = sleep
        self._concurrency = concurrency
        self._wait = wait_seconds
        self._stopping = asyncio.Event()
        self._ended = asyncio.Event()
        self.busy = 0
        """Runs in hand."""

    async def run(self) -> None:
        """Until `stop`."""
        self._ended.clear()
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(self._concurrency):
                    group.create_task(self._loop())
        finally:
            self._ended.set()

    async def stop(self, patience: float) -> None:
        """Take nothing more; finish the steps in flight, or stop them when `patience` seconds are over."""
        self._stopping.set()
        self._worker.drain()
        try:
            async with asyncio.timeout(patience):
                await self._ended.wait()
        except TimeoutError:
            self._worker.abort()
            await self._ended.wait()

    async def _loop(self) -> None:
        pause = 0.0
        while not self._stopping.is_set():
            try:
                found = await self._queue.receive(1, wait_seconds=self._wait, hidden_seconds=self._hidden)
            except Unavailable as error:
                pause = _longer(pause)
                _log.warning("queue away", code=error.code, reason=error.message, seconds=pause)
                await self._rest(pause)
                continue
            for delivery in found:
                with about_message(delivery):
                    await self._one(delivery)
            if self._worker.hindered and found:
                pause = _longer(pause)
                await self._rest(pause)
            elif not self._worker.hindered:
                pause = 0.0

    async def _rest(self, seconds: float) -> None:
        """So long, or until we stop."""
        waits = {asyncio.ensure_future(self._sleep(seconds)), asyncio.ensure_future(self._stopping.wait())}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _one(self, delivery: Delivery) -> None:
        self.busy += 1
        try:
            if await self._worker.handle(delivery):
                await self._queue.delete(delivery)
        except Unavailable as error:
            # It was done, or will be judged again: the record knows.
            _log.warning("message not deleted", message_id=delivery.message_id, code=error.code)
        except Exception as error:  # noqa: BLE001 - one message must not end the others' worker
            # It comes back when its loan ends, and to the dead letters if it never can be judged.
            _log.error("message not judged", message_id=delivery.message_id, exc_info=error)
        finally:
            self.busy -= 1


def _longer(pause: float) -> float:
    return min(max(pause * 2, 0.5), LONGEST_PAUSE)
