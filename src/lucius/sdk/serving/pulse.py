"""Heartbeats of one attempt: they keep its lease, carry its progress, and bring back what Lucius wants.

A beat leaves at every third of the lease, and sooner when there is progress to tell, at most one a
second. An answer may say that the attempt is lost (the work is stopped) or that the job was cancelled
(the work is asked to stop). A Lucius that does not answer changes nothing: the work goes on, the next
beat tries again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from lucius.errors import LuciusError
from lucius.sdk.serving.cancel import CancelToken
from lucius.sdk.serving.meter import Meter
from lucius.sdk.serving.ports import Heard, Transport
from lucius.sdk.serving.replies import heartbeat
from lucius.wire.messages import DirectiveMessage

CANCELLED: Final = "The job was cancelled, so the work was stopped."
LONGEST_BEAT: Final = 30.0
"""Seconds; clocks of two machines may differ by that much without a lease being lost."""
SHORTEST_BEAT: Final = 0.05
PROGRESS_EVERY: Final = 1.0


class Pulse:
    """Beats until it is cancelled; `on_lost` is called when the attempt is somebody else's."""

    def __init__(
        self,
        directive: DirectiveMessage,
        transport: Transport,
        *,
        lease: Lease,
        cancel: CancelToken,
        on_lost: Callable[[str], None],
        meter: Meter,
    ) -> None:
        self._directive = directive
        self._transport = transport
        self._lease = lease
        self._cancel = cancel
        self._on_lost = on_lost
        self._meter = meter
        self._said: tuple[float, str] | None = None
        self._told: tuple[float, str] | None = None

    def progress(self, fraction: float, message: str) -> None:
        """Tell this with the next beat; may be called from any thread."""
        self._said = (float(fraction), str(message))  # numbers of numpy are no JSON

    async def run(self) -> None:
        """Beat until cancelled."""
        loop = asyncio.get_running_loop()
        last = loop.time()
        never = asyncio.Event()
        while True:
            between = self._lease.beat()
            try:
                async with asyncio.timeout(min(between, PROGRESS_EVERY)):
                    await never.wait()
            except TimeoutError:
                pass
            now = loop.time()
            if now - last >= between or self._said != self._told:
                await self._beat(within=between, late=self._lease.late(now - last))
                last = now

    async def _beat(self, *, within: float, late: bool) -> None:
        said = self._said
        fraction, message = said or (None, None)
        reply = heartbeat(self._directive, self._lease.clock(), fraction, message or None)
        try:
            async with asyncio.timeout(max(within, 1.0)):  # the next beat says more than this one again
                heard = await self._transport.reply(self._directive, reply)
        except (LuciusError, TimeoutError):
            self._meter.beat("failed", late=late)
            return
        self._told = said
        self._meter.beat(heard.verdict or "sent", late=late)
        self.hear(heard)

    def hear(self, heard: Heard) -> None:
        """Act on what Lucius said."""
        self._lease.hear(heard)
        if heard.lost:
            self._on_lost(heard.verdict or "")
        elif heard.cancel_requested:
            self._cancel.request(CANCELLED)


class Lease:
    """Until when the attempt is ours, as far as this process knows."""

    __slots__ = ("clock", "expires_at", "heard_at", "length")

    def __init__(self, expires_at: int | None, clock: Callable[[], int]) -> None:
        self.clock = clock
        self.expires_at = expires_at
        self.heard_at: int | None = None
        self.length = self.remaining()

    def hear(self, heard: Heard) -> None:
        """Lucius has answered, and may have moved the end."""
        self.heard_at = self.clock()
        if heard.lease_expires_at is not None:
            self.expires_at = heard.lease_expires_at
            self.length = self.remaining()

    def beat(self) -> float:
        """Seconds from one heartbeat to the next."""
        return min(max(self.length / 3, SHORTEST_BEAT), LONGEST_BEAT)

    def late(self, silent: float) -> bool:
        """Whether so many seconds of silence were dangerously long."""
        return silent > max(self.length * 2 / 3, SHORTEST_BEAT)

    def remaining(self) -> float:
        """Seconds until the lease ends; infinite where nothing was said."""
        if self.expires_at is None:
            return float("inf")
        return (self.expires_at - self.clock()) / 1000
