"""Duties, round after round."""

from __future__ import annotations

import asyncio
from typing import Any

from structlog.testing import capture_logs

from lucius.errors import Unavailable
from lucius.ports.duties import Report
from lucius.runtime.at_work import _repeat
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


async def test_a_duty_that_is_hindered_says_so_once() -> None:
    """However many rounds a part is away, there is one line when it goes and one when it is back."""
    away, done = Unavailable("away", code="TEMPORAL_UNAVAILABLE"), Report(duty="scripted", acted=1)
    duty, metrics = Script(done, away, away, away, done, done), Metrics(clock=lambda: 7, version="1")
    with capture_logs() as lines:
        working = asyncio.create_task(_repeat(duty, metrics, State()))
        await asyncio.wait_for(duty.through.wait(), 30)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
    told: list[Any] = [(line["event"], line["duty"]) for line in lines]
    assert told == [("duty put off", "scripted"), ("duty done again", "scripted")]
    assert metrics.rounds()["scripted"].report is done
