"""The two-call path: an attempt recorded by name, and its directive published as recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core import commands as cmd
from lucius.core.decide import Chance, Decision, Verdict, decide
from lucius.core.decide.draft import Draft
from lucius.core.decide.progress import create_attempt
from lucius.errors import Invalid, NotFound, Refused
from lucius.wire.messages import decode_directive

if TYPE_CHECKING:
    from lucius.core.job import Job
    from lucius.ports.invoker import Attempted
    from lucius.ports.ledger import Ledger


def recorded(job: Job, minted: Attempted, now: int) -> Decision:
    """The attempt as the next one of its step; again, it is the same; anything else is refused.

    It alone: what else may start, or is late, is for its own call to say.
    """
    step = job.step(minted.step_id)
    if step is None or job.order.tenant_id != minted.tenant_id:
        raise NotFound(f"There is no step {minted.step_id} of job {minted.job_id}.", code="STEP_NOT_FOUND")
    current = step.attempt
    if current is not None and (current.attempt_no, current.lease_id) == (minted.attempt_no, minted.lease_id):
        return Decision(job=job, events=(), verdict=Verdict.DUPLICATE)
    number = current.attempt_no if current is not None else 0
    chance = Chance(lease_id=minted.lease_id)
    if minted.attempt_no != number + 1 or step.index not in decide(job, cmd.Tick(), now, chance).created:
        message = (
            f"Attempt {minted.attempt_no} of {minted.step_id} is not next: the job is {job.state}, "
            f"the step {step.state} with attempt {number}."
        )
        raise Refused(message, code="ATTEMPT_NOT_NEXT")
    draft = Draft(job, max(now, job.updated_at), chance)
    create_attempt(draft, step)
    return draft.decision(Verdict.ACCEPTED)


async def same_directive(ledger: Ledger, lane: int, directive: bytes) -> str:
    """The job whose open directive this is; what the ledger does not hold is not published."""
    asked = decode_directive(directive)
    for row in await ledger.outbox([asked.job_id]):
        if (row.tenant_id, row.step_id, row.attempt_no, row.lease_id, row.lane) == (
            asked.tenant_id, asked.step_id, asked.attempt_no, asked.lease_id, lane,
        ):  # fmt: skip
            return row.job_id
    message = f"Job {asked.job_id} has no open attempt {asked.attempt_no} of {asked.step_id} in lane {lane}."
    raise Invalid(message, code="NOT_THE_RECORDED_DIRECTIVE")
