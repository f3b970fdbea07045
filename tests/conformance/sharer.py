"""One of several processes that hammer a shared ledger, and write down what they were answered.

    python sharer.py PATH NAME

It opens the ledger, says `ready`, and begins when a line comes in. First a share of a storm of one key,
then changes to everybody's jobs and creations against a limit, until its input ends. Every line of output
is one answer, written when it was heard: kind, job, version.
"""

from __future__ import annotations

import asyncio
import os
import sys
import traceback
from itertools import count

from lucius.adapters.ledgers.sqlite.shared_ledger import SharedSqliteLedger
from lucius.core import commands as cmd
from lucius.core.decide import Chance, decide, open_job
from lucius.core.job import Job, Order
from lucius.errors import Saturated
from lucius.ports.ledger import Change, Opener, Usage
from lucius.testing.jobs import START, change, claim, job_id, order

STORM, HANDS, LIMIT = 22, 4, 5
COMMON = tuple(job_id(START, number) for number in range(900_001, 900_005))
"""Jobs that everybody changes."""


class Sharer:
    """One process at work."""

    def __init__(self, path: str, name: str) -> None:
        self.ledger = SharedSqliteLedger(path, clock=lambda: START, bound=60.0)
        self.number = 100_000 * (1 + "ABCD".index(name))
        self.name = name
        self.leases = count(1)
        self.ended = asyncio.Event()

    def chance(self) -> Chance:
        """A lease of this process."""
        return Chance(lease_id=f"{self.name}-{next(self.leases)}", spread=0.5)

    def order(self, tenant: str) -> Order:
        """An order that no other process has."""
        self.number += 1
        return order(tenant=tenant, job_id=job_id(START, self.number))

    def _opener(self, new: Order, limit: int | None = None) -> Opener:
        def opener(usage: Usage) -> Change:
            if limit is not None and usage.tenant_jobs >= limit:
                raise Saturated("full")
            return change(open_job(new, self.chance()))

        return opener

    async def until_told(self) -> None:
        """The input says when to end; a mistake of another hand does not wait for it."""
        asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline).add_done_callback(
            lambda _: self.ended.set()
        )
        await self.ended.wait()

    async def storm(self, _: int) -> None:
        """One of many with the same key."""
        new = self.order("storm")
        opened = await self.ledger.create(claim(new, "same"), self._opener(new))
        say("storm", opened.job)

    async def common(self) -> None:
        """Make the jobs that everybody changes; one of the three does, the others find them."""
        for identity in COMMON:
            new = order(tenant="common", job_id=identity)
            await self.ledger.create(claim(new), self._opener(new))

    async def flip(self, hand: int) -> None:
        """Pause and resume, wherever the job stands when it is our turn."""

        def judge(job: Job, _: Usage) -> Change:
            command = cmd.Resume() if job.state == "PAUSED" else cmd.Pause()
            return change(decide(job, command, START, self.chance()))

        for turn in count(hand):
            if self.ended.is_set():
                return
            made = await self.ledger.change(COMMON[turn % len(COMMON)], judge)
            assert made is not None
            assert made.decision.events
            say("changed", made.decision.job)

    async def fill(self, _: int) -> None:
        """Take a slot if there is one, and give it back."""
        while not self.ended.is_set():
            new = self.order("limited")
            try:
                opened = await self.ledger.create(claim(new), self._opener(new, LIMIT))
            except Saturated:
                os.write(1, b"full - 0\n")
                continue
            say("opened", opened.job)
            made = await self.ledger.change(
                new.job_id, lambda job, _: change(decide(job, cmd.Cancel(), START, self.chance()))
            )
            assert made is not None
            say("closed", made.decision.job)


def say(kind: str, job: Job) -> None:
    """One answer."""
    os.write(1, f"{kind} {job.job_id} {job.version}\n".encode())


async def main(path: str, name: str) -> None:
    """Until the input ends."""
    sharer, loop = Sharer(path, name), asyncio.get_running_loop()
    os.write(1, b"ready - 0\n")
    await loop.run_in_executor(None, sys.stdin.readline)
    await asyncio.gather(*(sharer.storm(number) for number in range(STORM)))
    await sharer.common()
    async with asyncio.TaskGroup() as hands:
        for hand in range(HANDS):
            hands.create_task(sharer.flip(hand))
            hands.create_task(sharer.fill(hand))
        hands.create_task(sharer.until_told())
    await sharer.ledger.close()
    os.write(1, b"done - 0\n")


async def _or_end(path: str, name: str) -> None:
    """What goes wrong ends the process at once: a thread that waits for input would hold it up."""
    try:
        await main(path, name)
    except BaseException:  # noqa: BLE001 - whatever it is
        traceback.print_exc()
        os._exit(1)


if __name__ == "__main__":
    asyncio.run(_or_end(*sys.argv[1:]))
