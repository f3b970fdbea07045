"""Control: cancel, pause, resume, and retry as a new job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from lucius.core.commands import Cancel, Command, Pause, Resume
from lucius.core.job import StepResult
from lucius.core.states import JobState, StepState
from lucius.errors import Refused
from lucius.ports.ledger import Claim
from lucius.security.principal import Role, missing, require, sees

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.core.job import Job, Order
    from lucius.ports.engine import Engine
    from lucius.ports.ledger import Ledger, Opened
    from lucius.ports.schematics import Schematics
    from lucius.security.principal import Principal

_RETRYABLE = frozenset({JobState.FAILED_FINAL, JobState.CANCELLED})


class Control:
    """What people ask of jobs that exist."""

    def __init__(
        self,
        engine: Engine,
        ledger: Ledger,
        schematics: Schematics,
        *,
        clock: Callable[[], int],
        new_id: Callable[[], str],
    ) -> None:
        self._engine = engine
        self._ledger = ledger
        self._schematics = schematics
        self._clock = clock
        self._new_id = new_id

    async def cancel(
        self, job_id: str, principal: Principal, *, force: bool = False, reason: str | None = None
    ) -> Job:
        """Stop a job."""
        return await self._ask(job_id, principal, Cancel(force=force, reason=reason))

    async def pause(self, job_id: str, principal: Principal) -> Job:
        """Let nothing new start."""
        return await self._ask(job_id, principal, Pause())

    async def resume(self, job_id: str, principal: Principal) -> Job:
        """Go on."""
        return await self._ask(job_id, principal, Resume())

    async def retry(self, job_id: str, principal: Principal) -> Opened:
        """A new job that starts at the failed step. Asked twice, it is the same, unless that failed too."""
        old = await self._find(job_id, principal)
        if old.state not in _RETRYABLE:
            message = f"Only FAILED_FINAL and CANCELLED jobs can be retried; this one is {old.state}."
            raise Refused(message, code="JOB_NOT_RETRYABLE")
        order = _again(old, self._new_id(), self._clock())
        claim = Claim(tenant_id=order.tenant_id, key=f"r:{job_id}", expires_at=None, release_on_failure=True)
        return await self._engine.open(order, claim, self._schematics.current().limits(order.tenant_id))

    async def _ask(self, job_id: str, principal: Principal, command: Command) -> Job:
        job = await self._find(job_id, principal)
        limits = self._schematics.current().limits(job.order.tenant_id)
        answer = await self._engine.control(job_id, command, limits)
        if answer.job is None:
            raise missing("job", job_id)
        if answer.refusal is not None:
            raise Refused(answer.refusal.message, code=answer.refusal.code)
        return answer.job

    async def _find(self, job_id: str, principal: Principal) -> Job:
        require(principal, Role.OPERATE)
        job = await self._ledger.job(job_id)
        if job is None or not sees(principal, job.order.tenant_id):
            raise missing("job", job_id)
        return job


def _again(old: Job, job_id: str, now: int) -> Order:
    """The order of a retry: the same recipe and routing, starting where its ancestor stopped."""
    done: list[StepResult] = []
    for step in old.steps:
        if step.state is not StepState.SUCCEEDED or step.result is None:
            break
        done.append(step.result)
    workspace = old.order.workspace_ref["uri"].removesuffix(f"{old.job_id}/") + f"{job_id}/"
    return replace(
        old.order,
        job_id=job_id,
        accepted_at=now,
        workspace_ref={"uri": workspace},
        not_before=None,
        idempotency_key=None,
        ancestor_id=old.job_id,
        start_index=len(done),
        inherited=tuple(done),
    )
