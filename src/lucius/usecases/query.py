"""Query: what there is to see of jobs, for whoever may see it.

Somebody else's job and a missing job are one answer. The role is checked before anything is looked
up, so a credential that may not read learns nothing, not even that an id is unknown.

`Hub` tells followers of a job that there is something new. It holds no events: a follower reads them
from the ledger, so a wake-up too many costs one read and none is ever lost (the flag is cleared before
the read, never after).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lucius.core.events import Event, JobCancelled, JobFailed, JobSucceeded
from lucius.security.principal import Role, missing, require, sees

if TYPE_CHECKING:
    from lucius.core.job import Job
    from lucius.ports.deliveries import Deliveries, DeliveryView
    from lucius.ports.ledger import Change, JobQuery, Ledger
    from lucius.security.principal import Principal

PAGE = 500
_LAST_WORDS = (JobSucceeded, JobFailed, JobCancelled)


class Hub:
    """Wakes whoever follows a job. Costs nothing for jobs nobody follows."""

    def __init__(self) -> None:
        self._followers: dict[str, set[asyncio.Event]] = {}
        self._closed = asyncio.Event()

    @property
    def closed(self) -> bool:
        """True when Lucius is going down."""
        return self._closed.is_set()

    async def wait_closed(self) -> None:
        """Wait for the end, beside whatever else is waited for."""
        await self._closed.wait()

    def notify(self, job_id: str) -> None:
        """Something happened to this job."""
        for follower in self._followers.get(job_id, ()):
            follower.set()

    def listen(self, changes: Sequence[Change]) -> None:
        """The listener to give to `ledger.on_commit`."""
        if self._followers:
            for change in changes:
                self.notify(change.decision.job.order.job_id)

    def rouse(self) -> None:
        """Something happened to some job: another process wrote."""
        for job_id in tuple(self._followers):
            self.notify(job_id)

    def close(self) -> None:
        """Send everybody who waits home: Lucius is going down."""
        self._closed.set()
        self.rouse()

    @contextmanager
    def following(self, job_id: str) -> Iterator[asyncio.Event]:
        """A flag that is set whenever the job changes."""
        flag = asyncio.Event()
        self._followers.setdefault(job_id, set()).add(flag)
        try:
            yield flag
        finally:
            followers = self._followers[job_id]
            followers.discard(flag)
            if not followers:
                del self._followers[job_id]


class Query:
    """Reads jobs on behalf of a principal."""

    def __init__(self, ledger: Ledger, deliveries: Deliveries, *, hub: Hub) -> None:
        self._ledger = ledger
        self._deliveries = deliveries
        self._hub = hub

    async def job(self, job_id: str, principal: Principal) -> Job:
        """One job."""
        require(principal, Role.READ)
        job = await self._ledger.job(job_id)
        if job is None or not sees(principal, job.order.tenant_id):
            raise missing("job", job_id)
        return job

    async def jobs(self, query: JobQuery, principal: Principal) -> list[Job]:
        """Jobs newest first, of the tenants asked for or of all the principal sees."""
        require(principal, Role.READ)
        for tenant in query.tenants or ():
            require(principal, Role.READ, tenant)
        if query.tenants is None:
            query = replace(query, tenants=principal.tenants)
        return await self._ledger.jobs(query)

    async def events(
        self, job_id: str, principal: Principal, *, after: int = 0, limit: int = PAGE
    ) -> tuple[Job, list[Event]]:
        """A page of a job's story, and the job."""
        job = await self.job(job_id, principal)
        return job, await self._ledger.events(job_id, after=after, limit=limit)

    async def deliveries(self, job_id: str, principal: Principal) -> list[DeliveryView]:
        """What became of the webhooks of a job."""
        await self.job(job_id, principal)
        return await self._deliveries.for_job(job_id)

    async def follow(self, job: Job, *, after: int, beat: float) -> AsyncIterator[list[Event]]:
        """Pages of events as they are committed, until the job's last word; empty ones as a heartbeat.

        Takes a job that `job` has shown to the principal. Ends early when Lucius goes down.
        """
        over = job.terminal
        with self._hub.following(job.job_id) as flag:
            while not self._hub.closed:
                flag.clear()
                page = await self._ledger.events(job.job_id, after=after, limit=PAGE)
                if page:
                    after = page[-1].seq
                    over = over or any(isinstance(event, _LAST_WORDS) for event in page)
                    yield page
                elif over:
                    return
                elif not await _set_within(flag, beat):
                    yield []


async def _set_within(flag: asyncio.Event, seconds: float) -> bool:
    try:
        async with asyncio.timeout(seconds):
            await flag.wait()
    except TimeoutError:
        return False
    return True
