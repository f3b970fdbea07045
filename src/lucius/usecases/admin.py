"""Admin: what people on call do with the system as a whole.

What concerns one tenant needs the role admin for that tenant; what concerns all of them needs it for
all. Every call is bounded: what does not fit into one call is told, and the caller comes again.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from lucius.core.routing import BURST, DEFAULT, lane_of, normalise, reply_topic_of, routing_key, topic_of
from lucius.core.states import StepState
from lucius.errors import LuciusError
from lucius.ports.ledger import JobQuery
from lucius.security.principal import Role, missing, require, require_everywhere, sees
from lucius.usecases.drift import Drift, look_for_drift

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lucius.core.admission import Limits
    from lucius.core.protocol import Protocol
    from lucius.ports.bus import Bus
    from lucius.ports.duties import Round
    from lucius.ports.engine import Engine
    from lucius.ports.ledger import DeadLetter, Ledger, Opened, Usage
    from lucius.ports.schematics import ReloadReport, Schematics
    from lucius.security.principal import Principal
    from lucius.usecases.control import Control

MANY = 100
_PAGE = 500


class Redrive(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one dead letter: a new job, or a reason why not."""

    job_id: str
    opened: Opened | None = None
    refusal: LuciusError | None = None


class Lane(msgspec.Struct, frozen=True, kw_only=True):
    """Where messages go for a tenant (and a document), in one mode."""

    mode: str
    lane: int
    routing_key_used: str
    topic: str
    reply_topic: str


class Lanes(msgspec.Struct, frozen=True, kw_only=True):
    """All lanes of a tenant and document, and what waits."""

    tenant_id: str
    doc_id: str | None
    lanes: tuple[Lane, ...]
    unsent: int | None
    """Directives of this tenant that wait for the bus; None: they wait in the invoker, unseen from here."""
    backlog: dict[str, int] | None
    """Waiting messages by subscription, for those who may see all tenants."""


class TenantLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one tenant may hold, and what it holds."""

    tenant_id: str
    limits: Limits
    usage: Usage


class Admin:
    """The system, seen from the control room."""

    def __init__(
        self,
        ledger: Ledger,
        engine: Engine,
        bus: Bus,
        schematics: Schematics,
        control: Control,
        *,
        usage: Callable[[str], Usage],
        clock: Callable[[], int],
        rounds: Callable[[], Mapping[str, Round]] = dict,
    ) -> None:
        """`rounds`: the last round of each duty of this process."""
        self._ledger = ledger
        self._engine = engine
        self._bus = bus
        self._schematics = schematics
        self._control = control
        self._usage = usage
        self._clock = clock
        self._rounds = rounds

    async def republish(self, principal: Principal, job_ids: Sequence[str]) -> int:
        """Send unsent directives now, of these jobs or of all; how many jobs were offered."""
        if not job_ids:
            require_everywhere(principal, Role.ADMIN)
            return await self._republish_all()
        require(principal, Role.ADMIN)
        for job_id in job_ids:
            job = await self._ledger.job(job_id)
            if job is None or not sees(principal, job.order.tenant_id):
                raise missing("job", job_id)
        return await self._republish_unsent(job_ids)

    async def dead_letters(self, principal: Principal, query: JobQuery) -> list[DeadLetter]:
        """Jobs that failed for good, newest first."""
        require(principal, Role.ADMIN)
        for tenant in query.tenants or ():
            require(principal, Role.ADMIN, tenant)
        if query.tenants is None:
            query = msgspec.structs.replace(query, tenants=principal.tenants)
        return await self._ledger.dead_letters(query)

    async def redrive(self, principal: Principal, job_id: str) -> Opened:
        """Run a dead job again as a new one."""
        require(principal, Role.ADMIN)
        return await self._control.retry(job_id, principal)

    async def redrive_many(
        self, principal: Principal, query: JobQuery, error_code: str | None
    ) -> list[Redrive]:
        """Redrive the dead letters of one page that nobody has redriven yet."""
        page = await self.dead_letters(principal, query)
        wanted = [
            letter.job_id
            for letter in page
            if letter.redriven_as is None and error_code in (None, letter.error.code)
        ]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._redriven(principal, job_id)) for job_id in wanted]
        return [task.result() for task in tasks]

    async def lanes(self, principal: Principal, tenant_id: str, doc_id: str | None) -> Lanes:
        """Where the messages of a tenant and document go."""
        tenant = normalise(tenant_id)
        require(principal, Role.ADMIN, tenant)
        two_grids = self._schematics.current().two_grids
        document = normalise(doc_id) if doc_id else None
        modes = (DEFAULT, BURST) if document else (DEFAULT,)
        waiting = self._engine.waiting()
        return Lanes(
            tenant_id=tenant,
            doc_id=doc_id,
            lanes=tuple(_lane(mode, routing_key(tenant, document, mode), two_grids) for mode in modes),
            unsent=None if waiting is None else waiting.get(tenant, 0),
            backlog=await self._bus.backlog() if principal.tenants is None else None,
        )

    def limits(self, principal: Principal, tenant_id: str | None) -> list[TenantLimits]:
        """Configured limits against what is in use, for one tenant or for every listed one."""
        require(principal, Role.ADMIN)
        catalogue = self._schematics.current()
        if tenant_id is not None:
            names = [normalise(tenant_id)]
            require(principal, Role.ADMIN, names[0])
        else:
            listed = catalogue.tenants if principal.tenants is None else principal.tenants
            names = sorted(listed)
        return [
            TenantLimits(tenant_id=name, limits=catalogue.limits(name), usage=self._usage(name))
            for name in names
        ]

    def system(self) -> tuple[Limits, Usage]:
        """The limits of a tenant that is not listed, and what everybody together holds."""
        return self._schematics.current().defaults.limits, self._usage("")

    def protocols(self) -> tuple[Protocol, ...]:
        """Every recipe; no secret, so whoever has a credential may look."""
        return self._schematics.current().protocols()

    async def drift(self, principal: Principal) -> Drift:
        """Compare what should agree."""
        require_everywhere(principal, Role.ADMIN)
        return await look_for_drift(
            self._ledger, self._engine, self._bus, now=self._clock(), rounds=self._rounds()
        )

    async def reload(self, principal: Principal) -> ReloadReport:
        """Read the configuration again; a bad one changes nothing."""
        require_everywhere(principal, Role.ADMIN)
        return await self._schematics.refresh()

    async def _redriven(self, principal: Principal, job_id: str) -> Redrive:
        try:
            return Redrive(job_id=job_id, opened=await self._control.retry(job_id, principal))
        except LuciusError as error:
            return Redrive(job_id=job_id, refusal=error)

    async def _republish_all(self) -> int:
        offered, after = 0, ""
        while page := await self._ledger.open_attempts(after=after, limit=_PAGE):
            after = page[-1]
            offered += await self._republish_unsent(page)
        return offered

    async def _republish_unsent(self, job_ids: Sequence[str]) -> int:
        """Only what the bus has not taken: a directive that somebody works on is left alone."""
        unsent = []
        for job_id in job_ids:
            job = await self._ledger.job(job_id)
            if job is not None and any(step.state is StepState.DISPATCHING for step in job.steps):
                unsent.append(job_id)
        return await self._engine.republish(unsent) if unsent else 0


def _lane(mode: str, key: str, two_grids: bool) -> Lane:  # noqa: FBT001 - one caller, beside it
    lane = lane_of(key)
    return Lane(
        mode=mode,
        lane=lane,
        routing_key_used=key,
        topic=topic_of(lane, mode, two_grids=two_grids),
        reply_topic=reply_topic_of(lane),
    )
