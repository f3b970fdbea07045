"""The invoker's work: judge, commit, publish, tell.

Every command is judged by the core against the ledger's job, by the ledger's clock, and committed. Nothing
is started here but what a workflow drew a lease for: replies and control are judged without one.

How it fails: while the bus is away `advance` raises `Unavailable` after a moment and is asked again; the
attempt stays the same. While Temporal is away `report` raises `Unavailable` although the ledger has the
reply, so its sender repeats it, the ledger calls it a duplicate, and the workflow is told then.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from lucius.core import commands as cmd
from lucius.core.decide import Chance, Decision, Verdict, decide
from lucius.core.job import standing
from lucius.core.states import JobState
from lucius.dispatch.changes import Changes, answer_of, require_slot
from lucius.engines.temporal.closing import Closing
from lucius.engines.temporal.publishing import Publishing
from lucius.engines.temporal.recording import recorded, same_directive
from lucius.engines.temporal.slim import slim_standing
from lucius.engines.temporal.telling import Telling, anywhere
from lucius.errors import NotFound, Unavailable
from lucius.ports.engine import Answer
from lucius.ports.invoker import Advanced
from lucius.ports.ledger import Change

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lucius.core.admission import Limits
    from lucius.core.job import Job
    from lucius.dispatch.backlog import Backlog
    from lucius.dispatch.changes import Render, Tell
    from lucius.dispatch.relay import Relay
    from lucius.engines.temporal.lateness import Lateness
    from lucius.engines.temporal.talking import Signals
    from lucius.engines.temporal.telling import Within
    from lucius.ports.invoker import Advance, Attempted
    from lucius.ports.ledger import Judge, Ledger, Usage


class InvokerDesk:
    """Sole writer of jobs after their creation, sole teller of their workflows."""

    def __init__(
        self,
        ledger: Ledger,
        relay: Relay,
        backlog: Backlog,
        signals: Signals,
        lateness: Lateness,
        *,
        render: Render,
        tell: Tell,
        clock: Callable[[], int],
        spread: Callable[[], float],
        patience: float = 2.0,
        untraced: Callable[[str, str], None] = lambda _reply, _verdict: None,
        within: Within = anywhere,
    ) -> None:
        """`patience`: seconds to wait for the bus; `untraced` is told of replies without an event.

        `within` puts a signal into the trace of its job.
        """
        self._ledger = ledger
        self._backlog = backlog
        self._lateness = lateness
        self._clock = clock
        self._spread = spread
        self._untraced = untraced
        self._change = Changes(render, tell)
        self._publishing = Publishing(
            ledger, relay, lambda command: self._judging(command, spread()), patience
        )
        self.closing = Closing(signals, self._apply)
        self._telling = Telling(signals, unheard=self.closing.close, within=within)
        self.note = self._publishing.note

    async def advance(self, ask: Advance) -> Advanced:
        """Record and publish in one call. Safe to repeat."""
        job = await self._ledger.job(ask.job_id)
        if job is None or job.order.tenant_id != ask.tenant_id:
            return Advanced(standing=None, now=self._clock())
        tick = cmd.Tick(held=await self._backlog.held(job))
        await self._lateness.check(job, tick)

        def judge(job: Job, _: Usage) -> Change:
            # What has moved on since the workflow looked is not built upon: it looks again.
            lease = ask.lease_id if ask.known == job.version else ""
            chance = Chance(lease_id=lease, spread=ask.spread)
            return self._change(job, decide(job, tick, self._clock(), chance))

        with self._publishing.awaited(ask.job_id):  # from here on: the relay is quicker than this answer
            return await self._published(await self._ledger.change(ask.job_id, judge))

    async def attempt(self, minted: Attempted) -> Advanced:
        """Record one named attempt."""
        now = self._clock()
        change = await self._ledger.change(
            minted.job_id, lambda job, _: self._change(job, recorded(job, minted, now))
        )
        if change is None:
            raise NotFound(f"There is no job {minted.job_id}.", code="JOB_NOT_FOUND")
        return self._advanced(change.decision.job)

    async def publish(self, lane: int, directive: bytes) -> None:
        """Publish the directive of a recorded attempt, in the bytes it was recorded with."""
        job_id = await same_directive(self._ledger, lane, directive)
        job = await self._ledger.job(job_id)
        if job is not None:
            await self._publishing.again([job_id])
            await self._publishing.await_sent(job)

    def report(self, tenant_id: str, job_id: str, reply: cmd.Reply) -> Awaitable[Answer]:
        """Judge a reply now; answer when it is durable and its workflow was told."""
        spread = self._spread()
        decided = self._judging(reply, spread)

        def judge(job: Job, usage: Usage) -> Change:
            if job.order.tenant_id != tenant_id:
                return Change(decision=Decision(job=job, events=(), verdict=Verdict.UNKNOWN))
            return decided(job, usage)

        return self._reported(reply, spread, self._ledger.change(job_id, judge))

    def control(self, job_id: str, command: cmd.Command, limits: Limits) -> Awaitable[Answer]:
        """Cancel, pause, resume: judged now, durable when it answers."""
        spread = self._spread()
        decided = self._judging(command, spread)

        def judge(job: Job, usage: Usage) -> Change:
            if isinstance(command, cmd.Resume) and job.state is JobState.PAUSED:
                require_slot(limits, usage, job.order.routing.mode)
            return decided(job, usage)

        return self._controlled(command, spread, self._ledger.change(job_id, judge))

    async def republish(self, job_ids: list[str]) -> int:
        """Send open directives again."""
        return await self._publishing.again(job_ids)

    async def _reported(self, reply: cmd.Reply, spread: float, committed: Awaitable[Change | None]) -> Answer:
        change = await committed
        if change is None or not change.decision.events:
            verdict = Verdict.UNKNOWN if change is None else change.decision.verdict
            self._untraced(type(reply).__name__.upper(), verdict.value)
        if change is not None:
            await self._told(reply, change.decision, spread)
        return answer_of(change)

    async def _told(self, reply: cmd.Reply, decision: Decision, spread: float) -> None:
        try:
            await self._telling.reply(reply, decision, spread)
        except Unavailable:
            self._lateness.hindered()
            raise

    async def _controlled(
        self, command: cmd.Command, spread: float, committed: Awaitable[Change | None]
    ) -> Answer:
        change = await committed
        if change is not None:
            with contextlib.suppress(Unavailable):  # a workflow that cannot be told now finds out: it drifts
                await self._telling.control(command, change.decision, spread)
        return answer_of(change)

    async def _published(self, change: Change | None) -> Advanced:
        if change is None:
            return Advanced(standing=None, now=self._clock())
        return self._advanced(await self._publishing.await_sent(change.decision.job))

    def _advanced(self, job: Job) -> Advanced:
        return Advanced(standing=slim_standing(standing(job)), now=self._clock())

    def _judging(self, command: cmd.Command, spread: float) -> Judge:
        """Judge without a lease: only a workflow starts anything."""
        chance = Chance(lease_id="", spread=spread)
        return lambda job, _: self._change(job, decide(job, command, self._clock(), chance))

    def _apply(self, job_id: str, command: cmd.Command) -> Awaitable[Change | None]:
        return self._ledger.change(job_id, self._judging(command, self._spread()))
