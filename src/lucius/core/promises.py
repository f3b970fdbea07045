"""The safety promises as plain checks: nothing here decides anything, it only looks.

    check_job         one job as it stands              S3 S4 S5 S7 S16 L1
    check_decision    a job and what became of it       S1 S2 S6 S7 S10 S11 S13 S14 S17
    check_history     an order, all events, the rows    the same over a whole life, and S13
    check_directives  events and outbox rows            S10
    check_slots       jobs and the counts in use        S12

S14 says: a refused reply changes nothing and leaves one event at most, none once there are `MAX_TRACED`.
They are written from the promises, not from the rules, so that a wrong rule shows: state machines,
simulations and `lucius verify` all ask the same questions. An empty list is the good answer.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

import msgspec
from msgspec.structs import replace

from lucius.core import events as ev
from lucius.core.decide.draft import Verdict
from lucius.core.decide.replies import MAX_TRACED
from lucius.core.evolve import blank, evolve
from lucius.core.protocol import stage_of
from lucius.core.states import (
    ACTIVE_STEP,
    COUNTED_JOB,
    JOB_TRANSITIONS,
    RUNNING_JOB,
    STEP_TRANSITIONS,
    TERMINAL_STEP,
    JobState,
    StepState,
)
from lucius.core.timing import due_at
from lucius.errors import Broken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lucius.core.decide.draft import Decision
    from lucius.core.job import Job, Order, Step

_REPORTS = (ev.StepSucceeded, ev.StepRetryScheduled, ev.StepFailed)
_REFUSALS = frozenset(Verdict) - {Verdict.ACCEPTED}


class Breach(msgspec.Struct, frozen=True, kw_only=True):
    """A promise that does not hold: which one, for which job, and what is wrong."""

    promise: str
    job_id: str
    what: str


class Directive(Protocol):
    """What an outbox row must show of itself."""

    @property
    def step_id(self) -> str: ...  # noqa: D102
    @property
    def attempt_no(self) -> int: ...  # noqa: D102
    @property
    def lease_id(self) -> str: ...  # noqa: D102
    @property
    def topic(self) -> str: ...  # noqa: D102
    @property
    def lane(self) -> int: ...  # noqa: D102
    @property
    def mode(self) -> str: ...  # noqa: D102


class _Findings:
    """Gathers breaches of one job."""

    def __init__(self, job_id: str) -> None:
        self.job_id = job_id
        self.found: list[Breach] = []

    def check(self, promise: str, holds: object, what: str) -> None:
        if not holds:
            self.found.append(Breach(promise=promise, job_id=self.job_id, what=what))


def check_job(job: Job) -> list[Breach]:
    """One job as it stands."""
    findings = _Findings(job.job_id)
    active = [step for step in job.steps if step.state in ACTIVE_STEP]
    if active:
        stage = stage_of(job.order.protocol, active[0].index)
        apart = [step.step_id for step in active if step.index not in stage]
        findings.check("S3", not apart, f"steps {apart} are active beside {active[0].step_id}")
        behind = [step.step_id for step in job.steps[: stage.start] if step.state is not StepState.SUCCEEDED]
        findings.check("S4", not behind, f"{active[0].step_id} is active before {behind} succeeded")
    _check_outcome(job, findings)
    for step in job.steps:
        _check_budget(job, step, findings)
    asleep = job.terminal or job.state is JobState.PAUSED
    findings.check("L1", asleep == (due_at(job) is None), f"{job.state} with due_at {due_at(job)}")
    return findings.found


def _check_outcome(job: Job, findings: _Findings) -> None:
    states = [step.state for step in job.steps]
    over = all(state in TERMINAL_STEP for state in states)
    findings.check("S5", not job.terminal or over, f"job {job.state}, steps {states}")
    findings.check("S5", job.terminal == (job.completed_at is not None), f"{job.state} at {job.completed_at}")
    failed = StepState.FAILED_FINAL in states
    won = all(state is StepState.SUCCEEDED for state in states)
    if job.state is JobState.SUCCEEDED:
        findings.check("S5", won, f"SUCCEEDED with steps {states}")
    elif job.state is JobState.FAILED_FINAL:
        late = job.error is not None and job.error.code in ("DEADLINE_EXCEEDED", "ENGINE_GAVE_UP")
        findings.check("S5", job.error is not None, "FAILED_FINAL without an error")
        findings.check("S5", failed or late, f"FAILED_FINAL, but no step failed: {states}")
    elif job.state is JobState.CANCELLED:
        findings.check("S5", job.cancel_requested_at is not None, "CANCELLED, but nobody asked")
    elif job.state is not JobState.CANCELLING:
        findings.check("S5", not won, f"every step SUCCEEDED, but the job is {job.state}")
        lost = failed or StepState.CANCELLED in states
        findings.check("S5", not lost, f"the job is {job.state} with steps {states}")
    ends_well = job.state is JobState.SUCCEEDED
    findings.check("S16", ends_well == (job.final_output is not None), f"{job.state}: {job.final_output}")


def _check_budget(job: Job, step: Step, findings: _Findings) -> None:
    recipe = job.order.protocol.steps[step.index]
    dispatch, execution = step.dispatch_failures, step.execution_failures
    tries = step.attempt.attempt_no if step.attempt else 0
    limit = recipe.max_dispatch_attempts + recipe.max_execution_attempts - 1
    findings.check("S7", tries <= limit, f"{step.step_id}: attempt {tries} of at most {limit}")
    findings.check("S7", tries <= 1 + dispatch + execution, f"{step.step_id}: attempt {tries} lost none")
    within = dispatch <= recipe.max_dispatch_attempts and execution <= recipe.max_execution_attempts
    findings.check("S7", within, f"{step.step_id}: {dispatch} dispatch and {execution} execution failures")


def check_decision(old: Job | None, decision: Decision) -> list[Breach]:
    """What a command did to a job (None: it was opened)."""
    new = decision.job
    findings = _Findings(new.job_id)
    start = blank(new.order) if old is None else old
    after = start
    reports = _reported(start)
    for before, event, after in _walk(start, decision.events, findings):
        _check_move(before, event, after, findings, reports)
    findings.check("S13", after == new, "the events do not add up to the job that was decided")
    findings.check("S17", new.order == start.order, "the order changed")
    created = [event.step_id for event in decision.events if isinstance(event, ev.AttemptCreated)]
    rendered = [new.steps[index].step_id for index in decision.created]
    findings.check("S10", created == rendered, f"attempts at {created}, directives for {rendered}")
    if decision.verdict in _REFUSALS:
        kinds = {type(event) for event in decision.events}
        findings.check("S14", kinds <= {ev.ReplyRefused}, f"{decision.verdict} came with {kinds}")
        traces, allowed = len(decision.events), int(start.version < MAX_TRACED)
        findings.check("S14", traces <= allowed, f"{traces} traces of one reply at version {start.version}")
        same = replace(new, version=start.version) == start
        findings.check("S14", same, f"{decision.verdict} changed the job")
    return findings.found + check_job(new)


def check_history(order: Order, events: Iterable[ev.Event], job: Job) -> list[Breach]:
    """A whole life: every move was legal, and together they give the job as it stands."""
    findings = _Findings(order.job_id)
    after = start = blank(order)
    reports = _reported(start)
    for before, event, after in _walk(start, events, findings):
        _check_move(before, event, after, findings, reports)
    findings.check("S13", after.version == job.version, f"{after.version} events, version {job.version}")
    for difference in _differences(after, job):
        findings.check("S13", holds=False, what=difference)
    return findings.found + check_job(job)


def check_directives(order: Order, events: Iterable[ev.Event], rows: Sequence[Directive]) -> list[Breach]:
    """One outbox row per attempt, under its lease, along the pinned route."""
    findings = _Findings(order.job_id)
    made = Counter((e.step_id, e.attempt_no, e.lease_id) for e in events if isinstance(e, ev.AttemptCreated))
    kept = Counter((row.step_id, row.attempt_no, row.lease_id) for row in rows)
    findings.check("S10", not made - kept, f"attempts without their directive: {sorted(made - kept)}")
    findings.check("S10", not kept - made, f"directives without their attempt: {sorted(kept - made)}")
    routing = order.routing
    for row in rows:
        pinned = (row.topic, row.lane, row.mode) == (routing.topic, routing.lane, routing.mode)
        findings.check("S10", pinned, f"{row.step_id}.{row.attempt_no} left its pinned route")
    return findings.found


def check_slots(jobs: Iterable[Job], counted: dict[str, int]) -> list[Breach]:
    """The slots in use by tenant are the jobs that hold one."""
    held = Counter(job.order.tenant_id for job in jobs if job.state in COUNTED_JOB)
    return [
        Breach(
            promise="S12",
            job_id="",
            what=f"{tenant} holds {held[tenant]} slots, counted {counted.get(tenant, 0)}",
        )
        for tenant in sorted({*held, *counted})
        if held[tenant] != counted.get(tenant, 0)
    ]


def _walk(job: Job, events: Iterable[ev.Event], findings: _Findings) -> Iterator[tuple[Job, ev.Event, Job]]:
    """The job before and after each event, until one cannot be."""
    for event in events:
        try:
            after = evolve(job, event)
        except Broken as error:
            findings.check("S13" if event.seq != job.version + 1 else "S2", holds=False, what=error.message)
            return
        yield job, event, after
        job = after


def _reported(job: Job) -> set[tuple[str, int]]:
    """Attempts that have delivered a result already."""
    return {(s.step_id, s.attempt.attempt_no) for s in job.steps if s.attempt and s.result}


def _check_move(
    before: Job, event: ev.Event, after: Job, findings: _Findings, reports: set[tuple[str, int]]
) -> None:
    where = f"event {event.seq} ({ev.kind(event)})"
    findings.check("S13", after.version == event.seq == before.version + 1, f"{where} is out of order")
    findings.check("S17", after.order == before.order, f"{where} changed the order")
    if before.terminal:
        quiet = replace(after, version=before.version) == before
        findings.check("S1", quiet, f"{where} changed a job that was {before.state}")
    moves = JOB_TRANSITIONS.get(ev.kind(event), frozenset())
    legal = before.state is after.state or (before.state, after.state) in moves
    findings.check("S2", legal, f"{where} moved the job from {before.state} to {after.state}")
    for old, new in zip(before.steps, after.steps, strict=True):
        _check_step_move(old, new, event, findings, where)
    if isinstance(event, ev.ReplyRefused):
        quiet = replace(after, version=before.version) == before
        findings.check("S14", quiet, f"{where} changed the job")
    if isinstance(event, ev.StepEvent):
        _check_step_event(before, event, findings, reports, where)


def _check_step_move(old: Step, new: Step, event: ev.Event, findings: _Findings, where: str) -> None:
    if old is new:
        return
    moves = STEP_TRANSITIONS.get(ev.kind(event), frozenset())
    legal = old.state is new.state or (old.state, new.state) in moves
    findings.check("S2", legal, f"{where} moved {old.step_id} from {old.state} to {new.state}")
    kept = old.state not in TERMINAL_STEP or old == new
    findings.check("S1", kept, f"{where} changed {old.step_id}, which was {old.state}")
    one_more = isinstance(event, ev.AttemptCreated) and event.step_id == old.step_id
    was = (old.attempt.attempt_no, old.attempt.lease_id) if old.attempt else (0, "")
    now = (new.attempt.attempt_no, new.attempt.lease_id) if new.attempt else (0, "")
    if one_more:
        grown = now[0] == was[0] + 1 and now[1] != was[1]
        findings.check("S7", grown, f"{where}: attempt {now} follows {was}")
    else:
        findings.check("S7", was == now, f"{where} changed the attempt from {was} to {now}")


def _check_step_event(
    before: Job, event: ev.StepEvent, findings: _Findings, reports: set[tuple[str, int]], where: str
) -> None:
    step = before.step(event.step_id)
    attempt = step.attempt if step else None
    if not isinstance(event, ev.AttemptCreated):
        current = attempt.attempt_no if attempt else 0
        findings.check("S6", event.attempt_no == current, f"{where} is for an attempt that is not current")
    if isinstance(event, ev.DirectivePublished) and attempt is not None and attempt.published_at is None:
        findings.check("S11", before.state in RUNNING_JOB, f"{where} while {before.state}")
    if isinstance(event, ev.AttemptCreated):
        findings.check("S11", before.state in RUNNING_JOB, f"{where} while {before.state}")
    if isinstance(event, _REPORTS) and event.result is not None:
        key = (event.step_id, event.attempt_no)
        findings.check("S6", key not in reports, f"{where}: a second result of attempt {key}")
        reports.add(key)


def _differences(replayed: Job, stored: Job) -> Iterator[str]:
    """Where the rows do not say what the events say."""
    for name in type(replayed).__struct_fields__:
        if name in {"steps", "version", "order"}:
            continue
        said, kept = getattr(replayed, name), getattr(stored, name)
        if said != kept:
            yield f"{name} is {kept!r}, the events say {said!r}"
    if len(replayed.steps) != len(stored.steps):
        yield f"{len(stored.steps)} steps, the order has {len(replayed.steps)}"
    for old, new in zip(replayed.steps, stored.steps, strict=False):
        for name in type(old).__struct_fields__:
            if getattr(old, name) != getattr(new, name):
                yield (
                    f"{old.step_id}.{name} is {getattr(new, name)!r}, the events say {getattr(old, name)!r}"
                )
