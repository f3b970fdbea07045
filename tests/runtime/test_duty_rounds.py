"""Duties, round after round."""

from __future__ import annotations

import asyncio
from typing import Any

from structlog.testing import capture_logs

from lucius.errors import Unavailable
from lucius.ports.duties import Report
from lucius.runtime.at_work import CALM, repeat
from lucius.runtime.state import State
from lucius.telemetry.metrics import Metrics


class Script:
    """A duty that does, or raises, one thing after the other, and then says that it is through."""

    name = "scripted"
    interval = 0.0

    def __init__(self, *rounds: Report | Exception) -> None:
        self._rounds = iter(rounds)
        self.through = asyncio.Event()

    async def run_once(self) -> Report:
        """The next of them."""
        said = next(self._rounds, None)
        if said is None:
            self.through.set()
            await asyncio.Event().wait()
        if isinstance(said, Exception):
            raise said
        assert said is not None
        return said


AWAY = Unavailable("away", code="TEMPORAL_UNAVAILABLE")
IDLE = Report(duty="scripted")


async def said(duty: Script, metrics: Metrics) -> list[Any]:
    """What is written while the script is played."""
    with capture_logs() as lines:
        working = asyncio.create_task(repeat(duty, metrics, State()))
        await asyncio.wait_for(duty.through.wait(), 30)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    return [(line["event"], line["duty"]) for line in lines]


async def test_a_round_that_did_nothing_does_not_say_that_all_is_well() -> None:
    """What failed rests for some rounds: they are no news. After enough of them it is over."""
    metrics = Metrics(clock=lambda: 7, version="1")
    flapping = Script(AWAY, IDLE, IDLE, AWAY, IDLE, IDLE, AWAY)
    assert await said(flapping, metrics) == [("duty put off", "scripted")]
    over = Script(AWAY, *[IDLE] * CALM, AWAY)
    assert [event for event, _ in await said(over, metrics)] == [
        "duty put off",
        "duty done again",
        "duty put off",
    ]


async def test_a_duty_that_is_hindered_says_so_once() -> None:
    """However many rounds a part is away, there is one line when it goes and one when it is back."""
    done = Report(duty="scripted", acted=1)
    duty, metrics = Script(done, AWAY, AWAY, AWAY, done, done), Metrics(clock=lambda: 7, version="1")
    assert await said(duty, metrics) == [("duty put off", "scripted"), ("duty done again", "scripted")]
    assert metrics.rounds()["scripted"].report is done
