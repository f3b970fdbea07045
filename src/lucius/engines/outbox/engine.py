"""Asks the core, commits its answer, tells the relay."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core import commands as cmd
from lucius.core.decide import Chance, Decision, Verdict, decide, open_job
from lucius.core.states import JobState
from lucius.dispatch.changes import Changes, answer_of, require_slot
from lucius.ports.engine import Answer
from lucius.ports.ledger import Change, Claim, Opened, Usage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lucius.core.admission import Limits
    from lucius.core.job import Job, Order
    from lucius.dispatch.changes import Render, Tell
    from lucius.dispatch.relay import Relay
    from lucius.errors import LuciusError
    from lucius.ports.engine import Driver
    from lucius.ports.ledger import Ledger

#: Commands that never lead to a new attempt or a wait, so that nothing is drawn for them.
_DRAWS_NOTHING = frozenset({cmd.Published, cmd.Ack, cmd.Heartbeat})
_UNUSED = Chance(lease_id="")


class OutboxEngine:
    """Drives jobs by one commit per decision. Clock, ids and jitter are given, never taken."""

    driver: Driver = "sweep"

    def __init__(
        self,
        ledger: Ledger,
        relay: Relay,
        *,
        render: Render,
        tell: Tell,
        clock: Callable[[], int],
        chance: Callable[[], Chance],
        untraced: Callable[[str, str], None] = lambda _reply, _verdict: None,
    ) -> None:
        """`untraced` is told of replies without an event: the kind of reply and its verdict."""
        self._ledger = ledger
        self._relay = relay
        self._change = Changes(render, tell)
        self._clock = clock
        self._chance = chance
        self._untraced = untraced

    def open(self, order: Order, claim: Claim, limits: Limits) -> Awaitable[Opened]:
        """Accept an order, or find the job that has its key."""

        def opener(usage: Usage) -> Change:
            require_slot(limits, usage, order.routing.mode)
            decision = open_job(order, self._chance())
            return self._change(None, decision)

        return self._ledger.create(claim, opener)

    def replay(self, claim: Claim, refusal: LuciusError) -> Awaitable[Opened]:
        """Find the job that has the key, decided but not yet durable ones too."""

        def opener(_: Usage) -> Change:
            raise refusal

        return self._ledger.create(claim, opener)

    def report(self, tenant_id: str, job_id: str, reply: cmd.Reply) -> Awaitable[Answer]:
        """Judge what a service says now, answer when it is durable."""
        return self._reported(reply, self.judge(tenant_id, job_id, reply))

    def judge(self, tenant_id: str, job_id: str, reply: cmd.Reply) -> Awaitable[Change | None]:
        """`report` for who needs no answer. Somebody else's job is no job."""

        def judge(job: Job, _: Usage) -> Change:
            if job.order.tenant_id != tenant_id:
                return Change(decision=Decision(job=job, events=(), verdict=Verdict.UNKNOWN))
            return self._decided(job, reply)

        return self._ledger.change(job_id, judge)

    def heard(self, reply: cmd.Reply, change: Change | None) -> None:
        """Count a reply that left no event to be counted by: of no job, or of one with enough of them."""
        if change is None or not change.decision.events:
            verdict = Verdict.UNKNOWN if change is None else change.decision.verdict
            self._untraced(type(reply).__name__.upper(), verdict.value)

    async def _reported(self, reply: cmd.Reply, committed: Awaitable[Change | None]) -> Answer:
        change = await committed
        self.heard(reply, change)
        return answer_of(change)

    def control(self, job_id: str, command: cmd.Command, limits: Limits) -> Awaitable[Answer]:
        """Cancel, pause, resume. A paused job gave its slot back and must find a free one."""

        def judge(job: Job, usage: Usage) -> Change:
            if isinstance(command, cmd.Resume) and job.state is JobState.PAUSED:
                require_slot(limits, usage, job.order.routing.mode)
            return self._decided(job, command)

        return _answered(self._ledger.change(job_id, judge))

    def apply(self, job_id: str, command: cmd.Command) -> Awaitable[Change | None]:
        """What the reconciler says: `Tick`."""
        return self._ledger.change(job_id, lambda job, _: self._decided(job, command))

    def note(self, job_id: str, command: cmd.Command) -> None:
        """What the relay says: `Published`, `PublishFailed`. Decided now, durable with the next commit.

        Nobody waits: the service's ACK usually shares the commit, and after a crash the same bytes go
        out again.
        """
        _ = self._ledger.change(job_id, lambda job, _: self._decided(job, command), patient=True)

    async def republish(self, job_ids: list[str]) -> int:
        """Send unsent directives now."""
        return await self._relay.refetch(job_ids)

    def waiting(self) -> dict[str, int]:
        """Directives that wait for the bus, by tenant."""
        return self._relay.waiting()

    def _decided(self, job: Job, command: cmd.Command) -> Change:
        chance = _UNUSED if type(command) in _DRAWS_NOTHING else self._chance()
        return self._change(job, decide(job, command, self._clock(), chance))


async def _answered(committed: Awaitable[Change | None]) -> Answer:
    return answer_of(await committed)
