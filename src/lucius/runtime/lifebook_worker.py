"""`lucius lifebook worker`: runs steps and does the duties of lifebook runs, until told to stop.

SIGTERM or Ctrl-C: no new runs; the steps in flight end, within `drain_seconds`, and their runs are handed on
to other workers; a second signal does not wait for the steps. What was in flight loses no attempt.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

import structlog

from lucius.errors import Invalid
from lucius.runtime import nature
from lucius.runtime.at_work import repeat
from lucius.runtime.building.lifebook import Lifebook, open_lifebook
from lucius.runtime.building.storage import make_room
from lucius.runtime.building.watching import open_watching
from lucius.runtime.state import State
from lucius.security.redaction import redact
from lucius.telemetry.logs import configure_logs

if TYPE_CHECKING:
    from lucius.runtime.settings import Settings
    from lucius.telemetry.metrics import Metrics

_log = structlog.get_logger("lucius.lifebook")


async def work(settings: Settings, *, announce: Callable[[str], None] | None = None) -> int:
    """Until a signal; 0, or 1 when something broke."""
    make_room(settings)
    watching = open_watching(settings, "lucius-lifebook-worker")
    lifebook = await open_lifebook(settings, watching.runs)
    if lifebook is None or lifebook.poller is None:
        raise Invalid(
            "Nothing to work on: LUCIUS_LIFEBOOK_BACKEND is off, or LUCIUS_LIFEBOOK_CONCURRENCY is 0",
            code="BAD_SETTINGS",
        )
    signals = _Signals()
    working = asyncio.create_task(_all(lifebook, watching.metrics))
    stopping = asyncio.create_task(signals.first.wait())
    if announce is not None:
        announce(", ".join(workflow.workflow_id for workflow in lifebook.desk.registry.all()))
    try:
        await asyncio.wait({working, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            await _drain(lifebook, settings.drain_seconds, signals)
    finally:
        for task in (working, stopping):
            task.cancel()
        ended = (await asyncio.gather(working, stopping, return_exceptions=True))[0]
        await lifebook.backend.close()
        await watching.traces.close()
    if isinstance(ended, Exception):
        _log.critical("the worker has failed", reason=str(ended), exc_info=ended)
        return 1
    return 0


def run_worker(settings: Settings, *, announce: Callable[[str], None] | None = None) -> int:
    """`work` on its own event loop."""
    configure_logs(redact=redact, clock=nature.now_ms, level=settings.log_level, style=settings.log_style)
    return asyncio.run(work(settings, announce=announce))


class _Signals:
    """The first asks, the second insists."""

    def __init__(self) -> None:
        self.first, self.second = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._came)

    def _came(self) -> None:
        (self.second if self.first.is_set() else self.first).set()


async def _drain(lifebook: Lifebook, patience: float, signals: _Signals) -> None:
    assert lifebook.poller is not None  # noqa: S101 - `work` has looked
    draining = asyncio.create_task(lifebook.poller.stop(patience))
    insisted = asyncio.create_task(signals.second.wait())
    await asyncio.wait({draining, insisted}, return_when=asyncio.FIRST_COMPLETED)
    if not draining.done():
        lifebook.worker.abort()
    await draining
    insisted.cancel()
    await asyncio.gather(insisted, return_exceptions=True)


async def _all(lifebook: Lifebook, metrics: Metrics) -> None:
    async with asyncio.TaskGroup() as group:
        if lifebook.poller is not None:
            group.create_task(lifebook.poller.run())
        for duty in lifebook.duties:
            group.create_task(repeat(duty, metrics, State()))
