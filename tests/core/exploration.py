"""Every place a small job can get to: a search over commands, one job kept for each place.

Two jobs are at one place when their states, counters and marks agree; times are forgotten, for each
command is tried when it comes, when something is due, and long after.
"""

from __future__ import annotations

from collections import deque
from functools import cache
from typing import Any, NamedTuple

from lucius.core import commands as cmd
from lucius.core.decide import Chance, Decision, decide, open_job
from lucius.core.events import kind
from lucius.core.evolve import blank, evolve
from lucius.core.job import Job, Step
from lucius.core.timing import due_at
from lucius.testing.jobs import AWAY, HOUR, MINUTE, START, done, lost, order, protocol, recipe

SMALL = {"max_dispatch_attempts": 2, "max_execution_attempts": 2}
SHAPES: dict[str, dict[str, Any]] = {
    "one": {"steps": protocol(recipe("a", **SMALL))},
    "late": {"steps": protocol(recipe("a", **SMALL), deadline=HOUR // 2), "not_before": START + MINUTE},
    "two": {"steps": protocol(recipe("a", **SMALL), recipe("b", max_dispatch_attempts=1))},
    "pair": {
        "steps": protocol(
            recipe("a", group="g", max_dispatch_attempts=1, max_execution_attempts=2),
            recipe("b", group="g", max_dispatch_attempts=2, max_execution_attempts=1),
        )
    },
    "inherited": {"steps": protocol("a"), "start_index": 1, "inherited": (done(),)},
}


class Found(NamedTuple):
    """One answer of the core, with the question."""

    before: Job
    command: cmd.Command
    decision: Decision


def place(job: Job) -> tuple[Any, ...]:
    """Where a job is, times forgotten."""
    return (job.state, job.paused_at is None, *(_step(step) for step in job.steps))


def _step(step: Step) -> tuple[Any, ...]:
    attempt = step.attempt
    marks = attempt and (attempt.published_at is None, attempt.acked_at is None, attempt.publish_tries > 0)
    result = step.result and step.result.status
    return (step.state, marks, result, step.dispatch_failures, step.execution_failures)


def questions(job: Job) -> list[tuple[cmd.Command, int]]:
    """Everything that can be asked of a job, current and stale, now and later."""
    now, due = job.updated_at + 1, due_at(job)
    asked: list[tuple[cmd.Command, int]] = [
        (cmd.Cancel(), now), (cmd.Cancel(force=True), now), (cmd.Pause(), now), (cmd.Resume(), now),
        (cmd.Resume(), now + HOUR), (cmd.Tick(), now), (cmd.Tick(), now + 9 * HOUR),
        (cmd.Ack(step_id="nobody", attempt_no=1, lease_id="x"), now), (cmd.GiveUp(reason="closed"), now),
    ]  # fmt: skip
    if due is not None:
        every = frozenset(step.step_id for step in job.steps)
        asked += [(cmd.Tick(), due), (cmd.Tick(held=every), due)]
    for step in job.steps:
        number, lease = (step.attempt.attempt_no, step.attempt.lease_id) if step.attempt else (1, "x")
        for tried in (number, number + 1):
            who: dict[str, Any] = {"step_id": step.step_id, "attempt_no": tried, "lease_id": lease}
            asked += [(cmd.Ack(**who), now), (cmd.Heartbeat(**who), now)]
            asked += [(cmd.Result(**who, result=each), now) for each in (done(), lost(), lost(final=True))]
            asked += [
                (cmd.Published(step_id=step.step_id, attempt_no=tried), now),
                (cmd.PublishFailed(step_id=step.step_id, attempt_no=tried, error=AWAY), now),
            ]
    return asked


@cache
def opened(shape: str) -> Decision:
    """A fresh job of that shape."""
    return open_job(order(**SHAPES[shape]), Chance(lease_id="l0"))


@cache
def explored(shape: str) -> list[Found]:
    """Every question at every place of one shape of job."""
    first = opened(shape).job
    seen, todo, found = {place(first)}, deque([first]), []
    while todo:
        job = todo.popleft()
        for number, (command, now) in enumerate(questions(job)):
            decision = decide(job, command, now, Chance(lease_id=f"l{job.version}.{number}"))
            found.append(Found(job, command, decision))
            if (where := place(decision.job)) not in seen:
                seen.add(where)
                todo.append(decision.job)
    return found


def moves() -> tuple[set[tuple[str, str, str]], set[tuple[str, str, str]]]:
    """(event, from, to) of every move of jobs and of steps that the search saw."""
    of_jobs, of_steps = set(), set()
    for shape in SHAPES:
        opening = opened(shape)
        told = [
            (blank(opening.job.order), opening),
            *((each.before, each.decision) for each in explored(shape)),
        ]
        for before, decision in told:
            job = before
            for event in decision.events:
                after = evolve(job, event)
                if after.state is not job.state:
                    of_jobs.add((kind(event), job.state.value, after.state.value))
                of_steps |= {
                    (kind(event), old.state.value, new.state.value)
                    for old, new in zip(job.steps, after.steps, strict=True)
                    if old.state is not new.state
                }
                job = after
    return of_jobs, of_steps
