"""Whose fault it is that nothing was heard: judged by what the invoker could hear."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lucius.core import commands as cmd
from lucius.core.timing import due_at
from lucius.engines.temporal.lateness import LONGEST, Lateness
from lucius.errors import Unavailable
from lucius.testing.jobs import Hand
from tests.core.builders import sent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lucius.core.job import Job

GRACE = 20_000


class LockedBus:
    """As much of a bus as is asked: it can be read while it takes nothing."""

    def __init__(self) -> None:
        self.locked = False
        self.waiting = 0

    async def renew(self, _tokens: Sequence[str]) -> list[int | None]:
        """Nothing; which shows whether anything could be done."""
        if self.locked:
            raise Unavailable("The bus is locked", code="BUS_UNAVAILABLE")
        return []

    async def backlog(self) -> dict[str, int]:
        """What waits, told even while it is locked."""
        return {"lucius": self.waiting}


def late() -> tuple[Job, Hand, LockedBus, Lateness]:
    """A directive that nobody has acknowledged in time, and an invoker that has listened all along."""
    job = sent().job
    clock, bus = Hand(0), LockedBus()
    lateness = Lateness(bus, "lucius", clock=clock, grace=GRACE)  # type: ignore[arg-type]
    clock.advance((due_at(job) or 0) + 1)
    return job, clock, bus, lateness


async def test_who_could_have_been_heard_is_late() -> None:
    """Nothing waits, nothing was in the way: the attempt may be given up."""
    job, _, _, lateness = late()
    await lateness.check(job, cmd.Tick())


async def test_nobody_is_late_while_the_bus_takes_nothing() -> None:
    """A bus that can only be read brings no reply: whoever asks is told so, and a moment longer."""
    job, clock, bus, lateness = late()
    bus.locked = True
    with pytest.raises(Unavailable, match="locked"):
        await lateness.check(job, cmd.Tick())
    bus.locked = False
    clock.advance(GRACE - 1)
    with pytest.raises(Unavailable, match="still coming in"):
        await lateness.check(job, cmd.Tick())
    clock.advance(1)
    await lateness.check(job, cmd.Tick())


async def test_a_long_absence_uses_up_nobodys_time() -> None:
    """However long replies could not come in: when they can, there is as much time as ever."""
    job, clock, bus, lateness = late()
    clock.advance(10 * LONGEST)
    lateness.hindered()
    with pytest.raises(Unavailable, match="still coming in"):
        await lateness.check(job, cmd.Tick())
    clock.advance(GRACE)
    bus.waiting = 1
    with pytest.raises(Unavailable, match="still coming in"):
        await lateness.check(job, cmd.Tick())


async def test_a_backlog_without_end_protects_nobody_for_ever() -> None:
    """Replies that are never read do not keep an attempt alive."""
    job, clock, bus, lateness = late()
    bus.waiting = 1
    with pytest.raises(Unavailable, match="still coming in"):
        await lateness.check(job, cmd.Tick())
    clock.advance(LONGEST)
    await lateness.check(job, cmd.Tick())
