"""The duty that sends what is due.

At any moment at most `Limits.total` requests are under way, of them at most `per_host` to one
endpoint and half of all for one tenant: an endpoint that hangs for its full ten seconds keeps its
own few places and nobody else's. In the loop a place that comes free is filled at once; nothing
waits for the slowest of a batch. A store that is away leaves the row due: it is sent again.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable

import msgspec

from lucius.errors import Unavailable
from lucius.ports.deliveries import Deliveries, DeliveryAttempt, DeliveryState, PendingDelivery
from lucius.webhooks.payload import CONTENT_TYPE, message_id
from lucius.webhooks.post import Answer, Poster
from lucius.webhooks.schedule import judge
from lucius.webhooks.signing import Signer

#: What became of one try, in the words of the metrics.
_OUTCOMES = {
    DeliveryState.DELIVERED: "delivered",
    DeliveryState.PENDING: "retried",
    DeliveryState.EXHAUSTED: "given_up",
}


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How much is under way at once."""

    total: int = 64
    per_host: int = 4

    @property
    def per_tenant(self) -> int:
        """Half of all: one tenant with many endpoints leaves room for the others."""
        return max(1, self.total // 2)


class Report(msgspec.Struct, kw_only=True):
    """What a round did."""

    sent: int = 0
    delivered: int = 0
    retrying: int = 0
    exhausted: int = 0
    unrecorded: int = 0


class Sender:
    """Sends due deliveries, in one process."""

    def __init__(
        self,
        *,
        deliveries: Deliveries,
        poster: Poster,
        signer: Signer,
        clock: Callable[[], int],
        chance: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
        limits: Limits | None = None,
        poll: float = 1.0,
        observe: Callable[[str, float], None] | None = None,
    ) -> None:
        """`observe` is told of each delivery: its outcome, and how many seconds it took."""
        self._deliveries = deliveries
        self._poster = poster
        self._signer = signer
        self._clock = clock
        self._chance = chance
        self._sleep = sleep
        self._limits = limits or Limits()
        self._poll = poll
        self._observe = observe
        self._under_way: dict[str, PendingDelivery] = {}
        self._busy: Counter[tuple[str, str]] = Counter()
        self._wake = asyncio.Event()
        self._stopping = False
        self.totals = Report()
        """Everything the loop did since it started."""

    async def run_once(self, now: int) -> Report:
        """Send what is due now, wait for all of it, and say what came of it."""
        report = Report()
        async with asyncio.TaskGroup() as group:
            await self._start_due(now, group, report)
        return report

    async def run(self) -> None:
        """Send until stopped; what is under way is finished (it has its own time limit)."""
        async with asyncio.TaskGroup() as group:
            while not self._stopping:
                # Cleared before looking: a wake-up during the look is kept for the next round.
                self._wake.clear()
                try:
                    await self._start_due(self._clock(), group, self.totals)
                except Unavailable:
                    await self._sleep(self._poll)
                    continue
                await self._wait()

    def wake(self) -> None:
        """Something was committed that may be due."""
        self._wake.set()

    def stop(self) -> None:
        """Start nothing more."""
        self._stopping = True
        self._wake.set()

    async def _start_due(self, now: int, group: asyncio.TaskGroup, report: Report) -> None:
        limits = self._limits
        # Room for rows that are under way already or have to wait for a place.
        for due in await self._deliveries.due(now, 4 * limits.total, per_host=limits.per_host):
            if len(self._under_way) >= limits.total:
                return
            if due.delivery_id not in self._under_way and self._take_place(due):
                group.create_task(self._send(due, report))

    async def _send(self, due: PendingDelivery, report: Report) -> None:
        try:
            report.sent += 1
            started = self._clock()
            answer = await self._poster.post(due.url, self._headers(due, started), due.body)
            outcome = await self._record(due, answer, started)
        except Unavailable:
            # Still due. No wake-up: that would send again and again while the store is away.
            report.unrecorded += 1
            return
        finally:
            self._leave_place(due)
        report.delivered += outcome is DeliveryState.DELIVERED
        report.retrying += outcome is DeliveryState.PENDING
        report.exhausted += outcome is DeliveryState.EXHAUSTED
        if self._observe is not None:
            self._observe(_OUTCOMES[outcome], (self._clock() - started) / 1000)
        self._wake.set()

    async def _record(self, due: PendingDelivery, answer: Answer, started: int) -> DeliveryState:
        now = self._clock()
        outcome = judge(answer, tries=due.tries + 1, now=now, chance=self._chance())
        attempt = DeliveryAttempt(
            at=started,
            took_ms=max(0, now - started),
            status=answer.status,
            code=answer.code,
            error=answer.error,
        )
        await self._deliveries.record(due.delivery_id, attempt, outcome.next_at, outcome.state)
        return outcome.state

    def _headers(self, due: PendingDelivery, now: int) -> dict[str, str]:
        signed = self._signer.headers(due.tenant_id, message_id(due.job_id, due.seq), now, due.body)
        fixed = {
            "content-type": CONTENT_TYPE,
            "user-agent": "Lucius-Webhooks/1",
            "accept-encoding": "identity",
        }
        return fixed | signed

    def _take_place(self, due: PendingDelivery) -> bool:
        host, tenant = ("host", due.host), ("tenant", due.tenant_id)
        if self._busy[host] >= self._limits.per_host or self._busy[tenant] >= self._limits.per_tenant:
            return False
        self._under_way[due.delivery_id] = due
        self._busy.update((host, tenant))
        return True

    def _leave_place(self, due: PendingDelivery) -> None:
        del self._under_way[due.delivery_id]
        for key in (("host", due.host), ("tenant", due.tenant_id)):
            self._busy[key] -= 1
            if not self._busy[key]:
                del self._busy[key]

    async def _wait(self) -> None:
        waits = {asyncio.ensure_future(self._wake.wait()), asyncio.ensure_future(self._sleep(self._poll))}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
