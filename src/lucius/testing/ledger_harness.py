"""What the ledger suites are given: a fresh ledger, its clock, how to start it again, and shorthand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from lucius.core import commands as cmd
from lucius.core.decide import Chance, Verdict, decide, open_job
from lucius.core.job import Job, Order, StepResult
from lucius.ports.ledger import Change, Claim, Ledger, Opened, Usage
from lucius.testing.jobs import Hand, change, claim, done, lost, order

Restart = Callable[[Ledger], Awaitable[Ledger]]


@dataclass(slots=True, kw_only=True)
class LedgerHarness:
    """A fresh ledger and shorthand for the suite."""

    ledger: Ledger
    clock: Hand
    restart: Restart | None = None
    """Stop this ledger and open what it kept; None if it keeps nothing."""
    leases: count[int] = field(default_factory=lambda: count(1))

    def chance(self) -> Chance:
        """A lease nobody else has."""
        return Chance(lease_id=f"lease-{next(self.leases)}", spread=0.5)

    async def reopen(self) -> None:
        """Stop and start again."""
        assert self.restart is not None, "this ledger keeps nothing"
        self.ledger = await self.restart(self.ledger)

    def order(self, **more: Any) -> Order:
        """An order of now."""
        return order(**{"accepted_at": self.clock(), **more})

    def create(self, of: Order, by: Claim | None = None) -> Awaitable[Opened]:
        """Ask for a job; the answer is awaited by the caller."""
        return self.ledger.create(by or claim(of), lambda _: change(open_job(of, self.chance())))

    async def open(self, of: Order | None = None, **more: Any) -> Job:
        """A job, durable."""
        opened = await self.create(of or self.order(**more))
        return opened.job

    def ask(self, job_id: str, command: cmd.Command) -> Awaitable[Change | None]:
        """Ask something of a job; the answer is awaited by the caller."""

        def judge(job: Job, _: Usage) -> Change:
            return change(decide(job, command, self.clock(), self.chance()))

        return self.ledger.change(job_id, judge)

    async def tell(self, job_id: str, command: cmd.Command) -> Verdict:
        """Ask and wait; how it was judged."""
        answered = await self.ask(job_id, command)
        assert answered is not None, f"no job {job_id}"
        return answered.decision.verdict

    async def report(self, job_id: str, result: StepResult | None = None) -> Verdict:
        """The current step reports, well unless said otherwise."""
        job = await self.stored(job_id)
        step = job.steps[job.current_index]
        assert step.attempt is not None, f"no attempt at {step.step_id}"
        return await self.tell(
            job_id,
            cmd.Result(
                step_id=step.step_id,
                attempt_no=step.attempt.attempt_no,
                lease_id=step.attempt.lease_id,
                result=result or done(),
            ),
        )

    async def fail(self, job_id: str) -> None:
        """The job fails for good."""
        await self.report(job_id, lost("BAD_PDF", final=True))

    async def finish(self, job_id: str) -> None:
        """The job succeeds."""
        while not (await self.stored(job_id)).terminal:
            await self.report(job_id)

    async def stored(self, job_id: str) -> Job:
        """The job as committed; it must be there."""
        found = await self.ledger.job(job_id)
        assert found is not None, f"no job {job_id}"
        return found

    async def usage(self, tenant: str = "acme") -> Usage:
        """What the ledger says a tenant holds, asked as a submission would."""
        seen: list[Usage] = []

        def opener(usage: Usage) -> Change:
            seen.append(usage)
            raise LookupError

        try:
            await self.ledger.create(
                Claim(tenant_id=tenant, key="d:?", expires_at=None, release_on_failure=True), opener
            )
        except LookupError:
            return seen[0]
        raise AssertionError("an opener that raises must be heard")
