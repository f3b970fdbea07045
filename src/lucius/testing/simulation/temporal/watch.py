"""The promises of the temporal engine, beyond those the core makes.

S18: a workflow ends as its ledger says, and ends. E1: no reply is settled before its workflow knows. E2:
every attempt was drawn by the workflow, on top of what the ledger had. E4: what a workflow knows never
goes back. L7: in calm schedules a step needs one attempt. L2: questions and signals have causes that can be
counted, and as long as all of Lucius is up the drift check has next to nothing to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from temporalio.client import WorkflowExecutionStatus as Status

from lucius.core import commands as cmd
from lucius.core.states import JobState
from lucius.engines.temporal.messages import ACK, CANCELLED, FAILED, RESULT, Outcome
from lucius.testing.simulation.watch import Watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from temporalio.api.common.v1 import Payload

    from lucius.core.job import Job
    from lucius.ports.invoker import Advance
    from lucius.ports.ledger import Change
    from lucius.testing.simulation.temporal.execution import Execution
    from lucius.testing.simulation.temporal.plan import TemporalPlan

FEW = 2
"""Nudges that a job may need though all is up: a signal that another overtook, a question tried again."""


class TemporalWatch(Watch):
    """Remembers what was promised."""

    def __init__(self, plan: TemporalPlan) -> None:
        super().__init__(plan.limit)
        self._plan = plan
        self.ended_by_hand: set[str] = set()
        """Workflows that an operator ended."""
        self._drawn: dict[str, dict[str, int]] = {}
        self._told: set[tuple[str, str, str, int, str]] = set()
        self._known: dict[str, int] = {}

    def drawn(self, ask: Advance) -> None:
        """A workflow asks, with a lease for what may start on top of what it knows."""
        self._drawn.setdefault(ask.job_id, {})[ask.lease_id] = ask.known

    def told(self, job_id: str, name: str, payloads: Sequence[Payload]) -> None:
        """An open workflow has been signalled."""
        if name in (ACK, RESULT):
            said = msgspec.json.decode(payloads[0].data)
            self._told.add((job_id, name, said["stepId"], said["attempt_no"], said["lease_id"]))

    def settling(self, job_id: str, reply: cmd.Reply) -> None:
        """Somebody is about to settle a reply that counts: its open workflow must know of it (E1)."""
        name = {cmd.Ack: ACK, cmd.Result: RESULT}.get(type(reply))
        said = (job_id, name, reply.step_id, reply.attempt_no, reply.lease_id)
        if name is not None and said not in self._told:
            self.note(f"E1 {job_id}: {name} of {reply.step_id} is settled, its workflow was not told")

    def knows(self, job_id: str, version: int) -> None:
        """What a workflow knows of its job never goes back (E4)."""
        if version < self._known.get(job_id, 0):
            self.note(f"E4 workflow {job_id} went back from {self._known[job_id]} to {version}")
        self._known[job_id] = version

    def _committed(self, changes: Sequence[Change]) -> None:
        versions = {job_id: job.version for job_id, job in self.jobs.items()}
        for change in changes:
            job = change.decision.job
            for index in change.decision.created:
                self._check_drawn(versions.get(job.job_id, 0), job, index)
            versions[job.job_id] = job.version
        super()._committed(changes)

    def _check_drawn(self, version: int, job: Job, index: int) -> None:
        """Only a workflow draws attempts, and only on top of what it knows (E2)."""
        attempt = job.steps[index].attempt
        lease = attempt.lease_id.partition("-")[0] if attempt else ""
        known = self._drawn.get(job.job_id, {}).get(lease)
        if known != version:
            self.note(f"E2 {job.job_id}: an attempt on top of {version}, its workflow drew it on {known}")

    def note(self, words: str) -> None:
        """A promise is broken."""
        self.broken.append(words)

    def _check_end(self, job: Job, *, kind: bool) -> None:
        if job.job_id in self.ended_by_hand or self._plan.execution_timeout is not None:
            kind = False
        super()._check_end(job, kind=kind)
        if self._plan.calm:
            for step in job.steps:
                number = step.attempt.attempt_no if step.attempt else 0
                if number != 1:
                    self.note(f"L7 {job.job_id}: outages alone cost {step.step_id} {number} attempts")

    def check_workflows(self, executions: dict[str, Execution], seconds: float) -> None:
        """Every workflow has ended, and the way its job did."""
        for job_id, execution in executions.items():
            job = self.jobs.get(job_id)
            if job is None:
                self.note(f"S18 workflow {job_id} drives nothing")
            elif execution.open:
                self.note(f"S18 {job_id} is {job.state}, its workflow is open for ever")
            else:
                self._check_outcome(job, execution)
                self._check_bounds(job, execution, seconds)
        for job in self.jobs.values():
            if job.state is JobState.SUCCEEDED and job.job_id not in executions and job.attempts_total:
                self.note(f"S18 {job.job_id} ran without a workflow")

    def _check_outcome(self, job: Job, execution: Execution) -> None:
        status, outcome = execution.status, execution.outcome
        if status is Status.COMPLETED:
            said = isinstance(outcome, Outcome) and (outcome.state, outcome.final_output) == (
                job.state,
                job.final_output,
            )
            agrees = said and job.state is JobState.SUCCEEDED
        elif status is Status.FAILED:
            agrees = {FAILED: JobState.FAILED_FINAL, CANCELLED: JobState.CANCELLED}.get(
                str(outcome)
            ) is job.state
        elif status is Status.CANCELED:
            agrees = job.state is JobState.CANCELLED
        else:  # from outside: the job was over before, or has been ended for it
            agrees = job.terminal
        if not agrees:
            self.note(f"S18 {job.job_id} is {job.state}, its workflow {status.name} with {outcome}")

    def _check_bounds(self, job: Job, execution: Execution, seconds: float) -> None:
        """Every question has a cause: an event, a nudge, a fault, a timer."""
        found = f"{execution.asked} questions, {execution.signals} signals, {execution.nudges} nudges"
        if self._plan.quiet:
            steps = len(job.steps)
            if execution.asked > steps + 2 or execution.signals > 2 * steps or execution.nudges:
                self.note(f"L2 {job.job_id}: {found} for {steps} steps and no fault")
        if self._plan.plain and execution.nudges > FEW and job.order.not_before is None:
            self.note(f"L2 {job.job_id}: {found}, though nothing but services was unwell")
        causes = job.version + execution.nudges + self._plan.faults + int(seconds / 10) + 5
        if execution.asked > causes or execution.signals > causes:
            self.note(f"L2 {job.job_id}: {found}, {causes} causes")
