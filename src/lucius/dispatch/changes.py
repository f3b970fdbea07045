"""A decision with all that is committed beside it, and whether there is room for one more job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core.admission import Counts, admit
from lucius.core.decide import Verdict
from lucius.ports.engine import Answer
from lucius.ports.ledger import Change

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lucius.core.admission import Limits
    from lucius.core.decide import Decision
    from lucius.core.events import Event
    from lucius.core.job import Job
    from lucius.ports.deliveries import NewDelivery
    from lucius.ports.ledger import OutboxRow, Usage

    Render = Callable[[Job, int], OutboxRow]
    Tell = Callable[[Job | None, Job, Sequence[Event]], tuple[NewDelivery, ...]]


class Changes:
    """Renders the directives of new attempts and what the client wants to hear of."""

    def __init__(self, render: Render, tell: Tell) -> None:
        self._render = render
        self._tell = tell

    def __call__(self, before: Job | None, decision: Decision) -> Change:
        """What the ledger commits."""
        job = decision.job
        return Change(
            decision=decision,
            outbox=tuple(self._render(job, index) for index in decision.created) if decision.created else (),
            deliveries=self._tell(before, job, decision.events) if job.order.callback_urls else (),
        )


def answer_of(change: Change | None) -> Answer:
    """What whoever asked is told. Somebody else's job is no job."""
    if change is None:
        return Answer(verdict=Verdict.UNKNOWN, job=None)
    decision = change.decision
    job = None if decision.verdict is Verdict.UNKNOWN and not decision.events else decision.job
    return Answer(verdict=decision.verdict, job=job, refusal=decision.refusal)


def require_slot(limits: Limits, usage: Usage, mode: str) -> None:
    """Raise `Saturated` unless one more job fits."""
    counts = Counts(tenant=usage.tenant_jobs, system=usage.system_jobs, tenant_burst=usage.tenant_burst_jobs)
    refusal = admit(limits, counts, mode)
    if refusal is not None:
        raise refusal
