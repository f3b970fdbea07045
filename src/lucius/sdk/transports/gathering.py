"""Many callers, few requests: what waits while a request is under way goes out together with the next one.

    put ──▶ waiting ──(nothing under way)──▶ sent ──▶ answered
                ▲                              │
                └────── its sender was cancelled

Nothing waits for a timer: an item that finds nothing under way leaves as soon as those who are ready to run
have had their turn, for they may bring more. There is no task of its own: of the callers that wait, the
first sends for all; when its request is over all of them go on at once. A sender that is cancelled, or
fails in an unforeseen way, leaves the items of the others to the next in line, so they may be sent twice:
only what may be repeated without harm belongs here.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Generic, TypeVar

I = TypeVar("I")  # noqa: E741 - an item
A = TypeVar("A")


class _Slip(Generic[I, A]):
    """One item on its way. `answers` is empty until there is one."""

    __slots__ = ("answers", "item", "left")

    def __init__(self, item: I) -> None:
        self.item = item
        self.answers: list[A] = []
        self.left = False


class Gathering(Generic[I, A]):
    """Sends items, up to `most` and up to a weight of `room` in one request."""

    def __init__(
        self,
        send: Callable[[Sequence[I]], Awaitable[Sequence[A]]],
        *,
        most: int,
        weigh: Callable[[I], int] = lambda _: 0,
        room: int = 0,
    ) -> None:
        self._send = send
        self._most = most
        self._weigh = weigh
        self._room = room
        self._under_way: asyncio.Event | None = None
        """Set when the request that is under way is over; None while there is none."""
        self._waiting: deque[_Slip[I, A]] = deque()

    async def put(self, items: Sequence[I]) -> list[A]:
        """The answers to these items, in their order."""
        slips: list[_Slip[I, A]] = [_Slip(item) for item in items]
        self._waiting.extend(slips)
        try:
            while not all(slip.answers for slip in slips):
                if self._under_way is None:
                    await self._send_next()
                else:
                    await self._under_way.wait()
        finally:
            for slip in slips:
                slip.left = True
        return [slip.answers[0] for slip in slips]

    async def _send_next(self) -> None:
        over = self._under_way = asyncio.Event()
        batch: list[_Slip[I, A]] = []
        try:
            await asyncio.sleep(0)  # noqa: TID251 - no time passes, others have their turn
            batch = self._take()
            answers = await self._send([slip.item for slip in batch])
        except BaseException:
            self._waiting.extendleft(reversed(batch))
            raise
        finally:
            self._under_way = None
            over.set()
        for slip, answer in zip(batch, answers, strict=True):
            slip.answers.append(answer)

    def _take(self) -> list[_Slip[I, A]]:
        """What goes out next: at least one item, and only items somebody still waits for."""
        batch: list[_Slip[I, A]] = []
        weight = 0
        while self._waiting and len(batch) < self._most:
            slip = self._waiting[0]
            weight += 0 if slip.left else self._weigh(slip.item)
            if batch and weight > self._room > 0:
                break
            self._waiting.popleft()
            if not slip.left:
                batch.append(slip)
        return batch
