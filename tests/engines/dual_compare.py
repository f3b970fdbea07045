"""What the dual run compares, and what it leaves out.

Equal, for every job, after every action: the whole row (state, version, error, final output, deadlines and
pause times; of each step its state, attempt number and all its times, failures on both tracks, result, last
error, progress), the whole history (every event with its time and details), and the verdict and refusal of
every reply and command. At the end also: the workflow of a job that is over is closed as the row says, that
of another one is open, and a job that was over when it was accepted has none (S18).

Left out, because it may differ:

    lease ids       each engine draws its own: compared is whose lease it is, as `step#attempt`
    order           of events of different steps (and of the job) that happen at one moment: the outbox engine
                    creates an attempt within the decision that makes it possible, the workflow right after.
                    The order within a step, and within the job's own events, is compared
    while unsent    a job of parallel steps one of which waits for an absent bus is compared when the bus is
                    back: its workflow stands in that call and starts no sibling meanwhile, and the sibling
                    could not be sent either. No time passes in between, so the histories are equal after it
    at one tick     when clocks of parallel steps ran out together, the outbox engine looks at them in their
                    order; a workflow that did not know the newest version has time judged first and starts
                    things after. So with parallel steps time passes from one due moment to the next
    doomed starts   commands that Temporal missed, and starts that were lost, are drawn only where the drift
                    check finds them at a moment at which something is due anyway
    jitter          is switched off
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from temporalio.client import Client, WorkflowExecutionStatus, WorkflowFailureError, WorkflowHandle
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from lucius.core.events import AttemptCreated, Event
from lucius.core.job import Job, standing
from lucius.core.promises import check_history
from lucius.core.states import JobState
from lucius.engines.temporal.converter import DATA_CONVERTER
from lucius.engines.temporal.messages import FAILED, Outcome
from lucius.engines.temporal.workflow import JobWorkflow
from lucius.testing.engines import EngineHarness

CLOSES_WITHIN = 60.0
"""Seconds a workflow may take to close after its job: milliseconds, or ten after a restart of its worker."""

NONE = "there is none"

Story = dict[str, Any]


async def story(world: EngineHarness, job_id: str) -> Story:
    """One job as a world tells it, without what may differ; its promises are checked on the way."""
    job = await world.ledger.job(job_id)
    assert job is not None, f"{job_id} is lost"
    events = await world.ledger.events(job_id)
    assert check_history(job.order, events, job) == []
    leases = {e.lease_id: f"{e.step_id}#{e.attempt_no}" for e in events if isinstance(e, AttemptCreated)}
    made = sum(isinstance(event, AttemptCreated) for event in events)
    assert len(leases) == made, "a lease was used twice"
    return {"row": _labelled(standing(job), leases)} | _by_step(events, leases)


def _by_step(events: Iterable[Event], leases: dict[str, str]) -> Story:
    told: dict[str, list[Any]] = defaultdict(list)
    for event in events:
        plain = _labelled(event, leases)
        del plain["seq"]
        told[f"history of {getattr(event, 'step_id', 'the job')}"].append(plain)
    return dict(told)


def _labelled(record: msgspec.Struct, leases: dict[str, str]) -> Any:
    def plain(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: plain(inner, key) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [plain(inner) for inner in value]
        return leases.get(value, value) if name == "lease_id" else value

    return plain(msgspec.to_builtins(record))


def differences(one: Any, other: Any, where: str = "") -> list[str]:
    """Where two stories differ, first differences first."""
    if isinstance(one, dict) and isinstance(other, dict):
        names = [*one, *(name for name in other if name not in one)]
        return [
            found
            for name in names
            for found in differences(one.get(name, "nothing"), other.get(name, "nothing"), f"{where} {name}")
        ]
    if isinstance(one, list) and isinstance(other, list):
        found = [
            d
            for i, (a, b) in enumerate(zip(one, other, strict=False))
            for d in differences(a, b, f"{where}[{i}]")
        ]
        if len(one) != len(other):
            longer, name = (one, "outbox") if len(one) > len(other) else (other, "temporal")
            found.append(f"{where}: only {name} has {longer[min(len(one), len(other)) :]}")
        return found
    return [] if one == other else [f"{where}: outbox {one!r}, temporal {other!r}"]


async def endings(client: Client, jobs: Sequence[Job], unborn: set[str]) -> list[str]:
    """Jobs whose workflow does not stand as the job does (S18). The `unborn` may have none, unless begun."""
    found = await asyncio.gather(*(_ending(client, job) for job in jobs))
    wrong = []
    for number, (job, how) in enumerate(zip(jobs, found, strict=True)):
        right = {job.state.value if job.terminal else "OPEN"}
        if job.job_id in unborn and not job.attempts_total:
            right.add(NONE)
        if how not in right:
            wrong.append(f"job {number} is {job.state} ({job.error}) and its workflow: {how}")
        elif how != NONE:
            wrong += [f"job {number}: {why}" for why in await _unlike_itself(client, job)]
    return wrong


async def _unlike_itself(client: Client, job: Job) -> list[str]:
    """Why a workflow would not do again what it did, if so: a worker that takes it over must."""
    history = await client.get_workflow_handle(job.job_id).fetch_history()
    replayer = Replayer(
        workflows=[JobWorkflow],
        workflow_runner=UnsandboxedWorkflowRunner(),
        data_converter=DATA_CONVERTER,
    )
    failure = (await replayer.replay_workflow(history, raise_on_replay_failure=False)).replay_failure
    return [] if failure is None else [f"its history cannot be replayed: {failure}"]


async def _ending(client: Client, job: Job) -> str:
    """How the workflow of a job stands, in the words of a job's state; what should close is awaited."""
    handle = client.get_workflow_handle(job.job_id, result_type=Outcome)
    try:
        found = await handle.describe()
    except RPCError:
        return NONE
    if not job.terminal:
        return "OPEN" if found.status is WorkflowExecutionStatus.RUNNING else f"closed: {found.status}"
    try:
        async with asyncio.timeout(CLOSES_WITHIN):
            outcome: Outcome = await handle.result()
    except TimeoutError:
        return "left open"
    except WorkflowFailureError as failure:
        return await _failed(handle, failure, job)
    # Not the version: replies that came later are events of the row, and the workflow was closed by then.
    well = outcome.state is JobState.SUCCEEDED and outcome.final_output == job.final_output
    return outcome.state.value if well else f"completed with {outcome}"


async def _failed(handle: WorkflowHandle[Any, Any], failure: WorkflowFailureError, job: Job) -> str:
    cause = failure.cause
    if isinstance(cause, ApplicationError):
        right = (
            cause.type == FAILED and job.error is not None and cause.message.startswith(f"{job.error.code}:")
        )
        return FAILED if right else f"failed: {cause.type}, {cause.message}"
    status = (await handle.describe()).status
    return "CANCELLED" if status is WorkflowExecutionStatus.CANCELED else f"closed: {status}"
