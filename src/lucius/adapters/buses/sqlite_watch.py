"""Who waits at a SQLite bus in this process, and how they hear of something.

While somebody waits, a timer looks at the file's `data_version`, a few microseconds in shared memory: a
commit of another process is noticed within `every` seconds, and so is a lock that runs out. A commit of
this process looks at once.

A look wakes as many receivers as messages wait for them. One woken in vain, because another process was
quicker, waits again. A receiver looks before it waits, with no `await` in between, and only a look moves the
version we know, so nothing is missed between the two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from lucius.adapters.buses.sqlite_boxes import Tenants
from lucius.adapters.buses.sqlite_reading import Reading
from lucius.errors import Unavailable

_LONGEST_WAIT: Final = 3600.0
Place = tuple[int, Tenants]
"""Where somebody waits: a box, and the tenants it may see there."""


class Watch:
    """The waiting receivers of one process."""

    def __init__(
        self, reading: Reading, clock: Callable[[], int], *, every: float, on_tick: Callable[[], None]
    ) -> None:
        self._reading = reading
        self._clock = clock
        self._every = every
        self._on_tick = on_tick
        self._waiters: dict[asyncio.Future[bool], Place] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._version = -1
        self._due: int | None = None

    def places(self) -> set[Place]:
        """Where somebody waits now."""
        return set(self._waiters.values())

    def is_read(self, box: int, tenant: str) -> bool:
        """Whether somebody who may see this tenant waits there."""
        return any(
            box == where and (tenants is None or tenant in tenants)
            for where, tenants in self._waiters.values()
        )

    async def wait(self, place: Place, seconds: float) -> bool:
        """Wait for something at that place; False when the time is over or the bus closes."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[bool] = loop.create_future()
        self._waiters[future] = place
        limit = loop.call_later(min(seconds, _LONGEST_WAIT), _send_away, future)
        if self._timer is None:
            self._timer = loop.call_later(self._every, self._tick)
        try:
            return await future
        except asyncio.CancelledError:
            del self._waiters[future]
            self.look()  # the wake-up may have been ours: hand it on
            raise
        finally:
            limit.cancel()
            self._waiters.pop(future, None)

    def look(self) -> None:
        """Wake whoever would find something, or would find out what is wrong."""
        if not self._waiters:
            return
        try:
            self._version = self._reading.version()
            self._due = self._reading.due()
            if self._due is not None and self._due <= self._clock():
                self._wake_one()  # it takes back what has run out, and everybody looks again
            self._wake_served()
        except Unavailable:
            for future in self._waiters:
                _wake(future)

    def dismiss(self) -> None:
        """Send every waiting receiver away with nothing."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for future in self._waiters:
            _send_away(future)

    def _tick(self) -> None:
        self._timer = None
        if not self._waiters:
            return
        self._timer = asyncio.get_running_loop().call_later(self._every, self._tick)
        try:
            changed = self._reading.version() != self._version
        except Unavailable:
            changed = True
        if changed or (self._due is not None and self._due <= self._clock()):
            self.look()
        self._on_tick()

    def _wake_one(self) -> None:
        for future in self._waiters:
            if not future.done():
                _wake(future)
                return

    def _wake_served(self) -> None:
        left: dict[Place, int] = {}
        for future, place in self._waiters.items():
            if future.done():
                continue
            if place not in left:
                left[place] = self._reading.waiting(*place)
            if left[place] > 0:
                left[place] -= 1
                _wake(future)


def _wake(future: asyncio.Future[bool]) -> None:
    if not future.done():
        future.set_result(True)


def _send_away(future: asyncio.Future[bool]) -> None:
    if not future.done():
        future.set_result(False)
