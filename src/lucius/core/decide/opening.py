"""The first decision about a job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core import events as ev
from lucius.core.decide.draft import Chance, Decision, Draft, Verdict
from lucius.core.decide.progress import settle
from lucius.core.evolve import blank

if TYPE_CHECKING:
    from lucius.core.job import Order


def open_job(order: Order, chance: Chance) -> Decision:
    """Accept an order: the job, its steps and, unless it is to start later, its first attempt."""
    draft = Draft(blank(order), order.accepted_at, chance)
    limit = order.protocol.deadline
    start = max(order.not_before or 0, order.accepted_at)
    draft.emit(ev.JobAccepted, deadline_at=start + limit if limit is not None else None)
    settle(draft)
    return draft.decision(Verdict.ACCEPTED)
