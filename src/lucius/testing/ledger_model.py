"""A ledger against a plain model: dictionaries, and the core they both ask.

    class MyMachine(LedgerMachine):
        async def new_ledger(self): return MyLedger(clock=self.clock)
        async def restarted(self, old): ...      # None: it keeps nothing

    TestMyMachine = MyMachine.TestCase

Any program of submissions, commands in one breath, time, retention and restarts leaves the ledger with
exactly what the model has.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from lucius.core import commands as cmd
from lucius.core.decide import Chance, decide, open_job
from lucius.core.events import Event, JobFailed
from lucius.core.job import Job
from lucius.core.states import COUNTED_JOB, RUNNING_JOB, JobState, StepState
from lucius.core.timing import due_at
from lucius.ports.ledger import Change, Claim, JobQuery, Ledger, OutboxRow, Usage
from lucius.testing.jobs import AWAY, HOUR, Hand, change, done, lost, order, protocol, recipe

TENANTS = ("acme", "zeta")
SHAPES = (
    protocol(recipe("a", max_execution_attempts=1)),
    protocol("a", "b"),
    protocol(recipe("a", group="g"), recipe("b", group="g"), deadline=HOUR),
)
VERBS = (
    "published",
    "unpublished",
    "ack",
    "done",
    "lost",
    "final",
    "stale",
    "tick",
    "cancel",
    "pause",
    "resume",
)


class Model:
    """What a ledger should hold."""

    def __init__(self) -> None:
        self.jobs: dict[str, Job] = {}
        self.events: dict[str, list[Event]] = {}
        self.claims: dict[tuple[str, str], tuple[str, int | None, bool]] = {}
        self.outbox: dict[str, OutboxRow] = {}

    def owner(self, claim: Claim, now: int) -> str | None:
        """The job that has this key, if one still has."""
        found = self.claims.get((claim.tenant_id, claim.key))
        if found is None or found[0] not in self.jobs or (found[1] is not None and now >= found[1]):
            return None
        job = self.jobs[found[0]]
        lost_it = found[2] and job.terminal and job.state is not JobState.SUCCEEDED
        return None if lost_it else job.job_id

    def take(self, made: Change) -> None:
        """One decision."""
        job = made.decision.job
        self.jobs[job.job_id] = job
        self.events.setdefault(job.job_id, []).extend(made.decision.events)
        self.outbox |= {row.message_id: row for row in made.outbox}

    def usage(self, tenant: str) -> Usage:
        """Slots in use, counted anew."""
        held = [job for job in self.jobs.values() if job.state in COUNTED_JOB]
        mine = [job for job in held if job.order.tenant_id == tenant]
        burst = sum(job.order.routing.mode == "BURST" for job in mine)
        return Usage(tenant_jobs=len(mine), tenant_burst_jobs=burst, system_jobs=len(held))

    def current_directives(self) -> dict[str, OutboxRow]:
        """What would have to be published again."""
        found = {}
        for job in self.jobs.values():
            for step in job.steps:
                sent = step.state in {StepState.AWAITING_ACK, StepState.IN_PROGRESS}
                unsent = step.state is StepState.DISPATCHING and job.state in RUNNING_JOB
                if step.attempt and (sent or unsent):
                    key = f"{job.job_id}.{step.index}.{step.attempt.attempt_no}"
                    found[key] = self.outbox[key]
        return found

    def purge(self, before: int) -> int:
        """Forget what was over before then."""
        gone = [job.job_id for job in self.jobs.values() if job.completed_at and job.completed_at < before]
        for job_id in gone:
            del self.jobs[job_id], self.events[job_id]
        return len(gone)


class LedgerMachine(RuleBasedStateMachine):
    """Any program of operations; override the two factories."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = Hand()
        self.model = Model()
        self.numbers = 0
        self.runner = asyncio.Runner()
        self.ledger: Ledger = self.runner.run(self.new_ledger())

    async def new_ledger(self) -> Ledger:
        """A fresh ledger on `self.clock`."""
        raise NotImplementedError

    async def restarted(self, old: Ledger) -> Ledger | None:
        """The same ledger after a stop; None if it keeps nothing."""
        raise NotImplementedError

    async def closed(self, old: Ledger) -> None:
        """Let go of everything."""
        raise NotImplementedError

    @rule(
        tenant=st.sampled_from(TENANTS), key=st.sampled_from("xyz"), explicit=st.booleans(),
        shape=st.sampled_from(SHAPES), mode=st.sampled_from(("DEFAULT", "BURST")), delayed=st.booleans(),
        ancestor=st.booleans(),
    )  # fmt: skip
    def create(
        self, *, tenant: str, key: str, explicit: bool, shape: Any, ancestor: bool, **more: Any
    ) -> None:
        """A submission: a job of its own, or the one that has the key."""
        now = self.clock()
        first = next(iter(sorted(self.model.jobs)), None) if ancestor else None
        start = now + HOUR if more["delayed"] else None
        asked = order(
            tenant=tenant,
            steps=shape,
            mode=more["mode"],
            accepted_at=now,
            not_before=start,
            ancestor_id=first,
        )
        claim = Claim(
            tenant_id=tenant, key=f"{'k' if explicit else 'd'}:{key}",
            expires_at=None if explicit else now + HOUR, release_on_failure=not explicit,
        )  # fmt: skip
        expected = self.model.owner(claim, now)
        opened = self.runner.run(self._create(claim, change(open_job(asked, self._chance())), tenant))
        assert opened.duplicate == (expected is not None)
        assert opened.job == self.model.jobs[expected or asked.job_id]

    async def _create(self, claim: Claim, made: Change, tenant: str) -> Any:
        def opener(usage: Usage) -> Change:
            assert usage == self.model.usage(tenant)
            self.model.take(made)
            job_id = made.decision.job.job_id
            self.model.claims[tenant, claim.key] = (job_id, claim.expires_at, claim.release_on_failure)
            return made

        return await self.ledger.create(claim, opener)

    @rule(asked=st.lists(st.tuples(st.integers(0, 99), st.sampled_from(VERBS), st.booleans()), max_size=6))
    def ask(self, asked: list[tuple[int, str, bool]]) -> None:
        """Several commands in one breath, to any jobs."""
        if self.model.jobs:
            self.runner.run(self._ask(asked))

    async def _ask(self, asked: list[tuple[int, str, bool]]) -> None:
        answers, expected = [], []
        for number, verb, patient in asked:
            ids = sorted(self.model.jobs)
            job = self.model.jobs[ids[number % len(ids)]]
            made = change(decide(job, _command(job, verb, number), self.clock(), self._chance()))
            answers.append(self.ledger.change(job.job_id, self._judge(job, made), patient=patient))
            expected.append(made)
            self.model.take(made)
        for answer, made in zip(answers, expected, strict=True):
            assert await answer == made

    def _judge(self, job: Job, made: Change) -> Any:
        usage = self.model.usage(job.order.tenant_id)

        def judge(found: Job, counted: Usage) -> Change:
            assert (found, counted) == (job, usage)
            return made

        return judge

    def _chance(self) -> Chance:
        self.numbers += 1
        return Chance(lease_id=f"lease-{self.numbers}", spread=0.5)

    @rule(ms=st.sampled_from((1, 30_000, HOUR, 24 * HOUR)))
    def pass_time(self, ms: int) -> None:
        """Later."""
        self.clock.advance(ms)

    @rule()
    def purge(self) -> None:
        """Retention."""
        before = self.clock() - HOUR
        assert self.runner.run(self._purge(before)) == self.model.purge(before)

    async def _purge(self, before: int) -> int:
        return await self.ledger.purge(before, 1000)

    @rule()
    def restart(self) -> None:
        """Stop and start; what keeps nothing is left alone."""
        again = self.runner.run(self.restarted(self.ledger))
        if again is not None:
            self.ledger = again

    @invariant()
    def holds_what_the_model_has(self) -> None:
        """Jobs, events, directives, due work, counts and dead letters agree."""
        self.runner.run(self._compare())

    async def _compare(self) -> None:
        ledger, model = self.ledger, self.model
        stored = {job.job_id: job for job in await ledger.jobs(JobQuery(limit=1000))}
        assert stored == model.jobs
        assert [await ledger.events(job_id) for job_id in model.events] == list(model.events.values())
        rows = await ledger.outbox(list(stored))
        assert {row.message_id: row for row in rows} == model.current_directives()
        far = self.clock() + 9 * HOUR
        waiting = [
            (due, job.job_id) for job in stored.values() if (due := due_at(job)) is not None and due <= far
        ]
        found = await ledger.due(far, 1000)
        assert sorted(found) == sorted(job_id for _, job_id in waiting)
        times = {job_id: due for due, job_id in waiting}
        assert [times[job_id] for job_id in found] == sorted(times.values())
        census = await ledger.census(far)
        assert census.by_state == Counter(job.state.value for job in stored.values() if not job.terminal)
        unsent = [
            s for j in stored.values() if not j.terminal for s in j.steps if s.state is StepState.DISPATCHING
        ]
        assert (census.unsent, census.due) == (len(unsent), len(waiting))
        dead = {letter.job_id for letter in await ledger.dead_letters(JobQuery(limit=1000))}
        failed = {
            key for key, events in model.events.items() if any(isinstance(e, JobFailed) for e in events)
        }
        assert dead == failed

    def teardown(self) -> None:
        """Let go."""
        self.runner.run(self.closed(self.ledger))
        self.runner.close()


def _command(job: Job, verb: str, number: int) -> cmd.Command:
    step = job.steps[number % len(job.steps)]
    attempt = (step.attempt.attempt_no, step.attempt.lease_id) if step.attempt else (1, "nobody's")
    who: dict[str, Any] = {"step_id": step.step_id, "attempt_no": attempt[0], "lease_id": attempt[1]}
    made: dict[str, cmd.Command] = {
        "published": cmd.Published(step_id=step.step_id, attempt_no=attempt[0]),
        "unpublished": cmd.PublishFailed(step_id=step.step_id, attempt_no=attempt[0], error=AWAY),
        "ack": cmd.Ack(**who),
        "done": cmd.Result(**who, result=done()),
        "lost": cmd.Result(**who, result=lost()),
        "final": cmd.Result(**who, result=lost(final=True)),
        "stale": cmd.Heartbeat(**{**who, "lease_id": "another"}),
        "tick": cmd.Tick(),
        "cancel": cmd.Cancel(force=bool(number % 2)),
        "pause": cmd.Pause(),
        "resume": cmd.Resume(),
    }
    return made[verb]
