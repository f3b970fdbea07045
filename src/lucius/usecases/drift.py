"""The drift check: figures that should agree, compared.

It reads open jobs one by one, a bounded number of them, and changes nothing. A difference that is
there twice in a row is worth a look; one that is gone the second time was work in progress.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from lucius.core.states import JobState, StepState
from lucius.core.timing import due_at
from lucius.ports.duties import Round

if TYPE_CHECKING:
    from lucius.core.job import Job
    from lucius.ports.bus import Bus
    from lucius.ports.engine import Driver, Engine
    from lucius.ports.ledger import Census, Ledger

_NO_ROUNDS: Mapping[str, Round] = MappingProxyType({})
MOST_JOBS = 5_000
LATE = 10_000
"""A due job that has waited for so many milliseconds is late."""
_PAGE = 500
_SHOWN = 20


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One comparison."""

    name: str
    ok: bool
    detail: str
    figures: dict[str, int] = {}
    job_ids: tuple[str, ...] = ()


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """What a check found."""

    ok: bool
    checked_at: int
    jobs_read: int
    complete: bool
    """False: there are more open jobs than one check reads."""
    checks: tuple[Check, ...]


async def look_for_drift(
    ledger: Ledger, engine: Engine, bus: Bus, *, now: int, rounds: Mapping[str, Round] = _NO_ROUNDS
) -> Drift:
    """Compare the ledger with itself, with the relay and with the bus; tell what the duties found last."""
    census = await ledger.census(now)
    jobs, complete = await _open_jobs(ledger)
    waiting = engine.waiting()
    dead = len(await bus.dead_letters(limit=1_000))
    checks = (
        _asleep(jobs),
        _late(census, engine.driver),
        _unsent(jobs, waiting),
        Check(
            name="bus_dead_messages",
            ok=dead == 0,
            detail="Messages that nobody could settle." if dead else "The bus has no dead messages.",
            figures={"dead": dead},
        ),
        _counts(jobs, census)
        if complete
        else Check(name="counts", ok=True, detail="Too many jobs to count."),
        *(_round(name, last, now) for name, last in sorted(rounds.items()) if last.report.details),
    )
    return Drift(
        ok=all(check.ok for check in checks),
        checked_at=now,
        jobs_read=len(jobs),
        complete=complete,
        checks=checks,
    )


async def _open_jobs(ledger: Ledger) -> tuple[list[Job], bool]:
    found: list[Job] = []
    after = ""
    while page := await ledger.open_attempts(after=after, limit=_PAGE):
        after = page[-1]
        if len(found) >= MOST_JOBS:
            return found, False
        read = [await ledger.job(job_id) for job_id in page]
        found += [job for job in read if job is not None and not job.terminal]
    return found, True


def _asleep(jobs: list[Job]) -> Check:
    asleep = [job.job_id for job in jobs if job.state is not JobState.PAUSED and due_at(job) is None]
    return Check(
        name="open_jobs_have_a_due_time",
        ok=not asleep,
        detail="Open jobs that nothing will ever wake." if asleep else "Every open job has a wake-up time.",
        figures={"asleep": len(asleep)},
        job_ids=tuple(asleep[:_SHOWN]),
    )


_ASK: dict[Driver, str] = {
    "sweep": "Due jobs wait too long: is the reconciler running?",
    "workflow": (
        "Due jobs wait too long: does Temporal answer, does a temporal worker run, does it reach the invoker?"
    ),
}


def _late(census: Census, driver: Driver) -> Check:
    late = census.due_lag_ms > LATE
    return Check(
        name="due_jobs_are_ticked",
        ok=not late,
        detail=_ASK[driver] if late else "Due jobs are ticked in time.",
        figures={"due": census.due, "oldest_ms": census.due_lag_ms},
    )


def _unsent(jobs: list[Job], by_tenant: dict[str, int] | None) -> Check:
    unsent = sum(step.state is StepState.DISPATCHING for job in jobs for step in job.steps)
    # Paused jobs keep an unsent attempt that the relay must not hold.
    parked = sum(
        step.state is StepState.DISPATCHING
        for job in jobs
        if job.state in (JobState.PAUSED, JobState.PAUSING)
        for step in job.steps
    )
    if by_tenant is None:
        return Check(
            name="relay_holds_what_is_unsent",
            ok=True,
            detail="Not compared: the relay is in the invoker, unseen from here.",
            figures={"unsent": unsent, "of_paused_jobs": parked},
        )
    waiting = sum(by_tenant.values())
    ok = waiting <= unsent - parked or waiting == 0
    return Check(
        name="relay_holds_what_is_unsent",
        ok=ok,
        detail="The relay and the ledger agree."
        if ok
        else "The relay holds directives the ledger calls sent.",
        figures={"unsent": unsent, "of_paused_jobs": parked, "waiting_in_relay": waiting},
    )


def _counts(jobs: list[Job], census: Census) -> Check:
    rows = Counter(job.state.value for job in jobs)
    differ = {
        state
        for state in rows.keys() | census.by_state.keys()
        if rows[state] != census.by_state.get(state, 0)
    }
    return Check(
        name="counts_match_rows",
        ok=not differ,
        detail="Counted and stored jobs differ." if differ else "Every job is counted once.",
        figures={f"rows_{state}": count for state, count in sorted(rows.items())}
        | {f"counted_{state}": count for state, count in sorted(census.by_state.items())},
    )


def _round(duty: str, last: Round, now: int) -> Check:
    """What a duty of this process found; other processes tell theirs in /metrics."""
    report = last.report
    return Check(
        name=f"duty:{duty}",
        ok=True,
        detail="What this duty found in its last round, and put right.",
        figures={**report.details, "acted": report.acted, "ms_ago": max(0, now - last.at)},
    )
