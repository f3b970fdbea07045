"""The background work of a process: one task group, and how it is let go.

A part that ends with an unexpected error ends the process, loudly; the next start recovers from the
ledger. A duty that cannot be done now is tried again at its next round.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import structlog

from lucius.errors import LuciusError
from lucius.runtime import nature
from lucius.runtime.process import Beside, Lucius

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lucius.ports.duties import Duty
    from lucius.runtime.building.driving import Driver
    from lucius.runtime.process import Process
    from lucius.runtime.state import State
    from lucius.telemetry.metrics import Metrics

_LOOK = 0.01


async def work(process: Process) -> None:
    """All of it, until cancelled."""
    async with asyncio.TaskGroup() as group:
        for run in process.background:
            group.create_task(_whole(run))
        for duty in process.duties:
            group.create_task(repeat(duty, process.metrics, process.state))
        if isinstance(process, Lucius) and process.beside is not None:
            group.create_task(_stand_by(process.beside))
        if process.driver is not None:
            await _drive(process.driver, process, group)
        if isinstance(process, Lucius):
            if process.echo is not None:
                group.create_task(process.echo.run())
            if process.workers is not None:
                group.create_task(process.workers.run())


async def _whole(run: Callable[[], Awaitable[None]]) -> None:
    await run()


async def _stand_by(beside: Beside) -> None:
    """The door first, for the worker knocks there; server and worker find each other by themselves."""
    async with asyncio.TaskGroup() as group:
        group.create_task(beside.door.serve())
        if beside.server is not None:
            beside.server.open()
            group.create_task(beside.server.run())
        await beside.door.open.wait()
        beside.worker.open()
        group.create_task(beside.worker.run())


async def _drive(driver: Driver, process: Process, group: asyncio.TaskGroup) -> None:
    group.create_task(driver.relay.run(driver.note))
    for intake in driver.intakes:
        group.create_task(intake.run())
    group.create_task(_lead(driver, process))
    if driver.recover is not None:
        report = await driver.recover()
        if report.acted:
            structlog.get_logger("lucius").info("open attempts published again", attempts=report.acted)


async def _lead(driver: Driver, process: Process) -> None:
    """What one of several processes does, once it is the one."""
    await driver.leadership.won()
    async with asyncio.TaskGroup() as group:
        group.create_task(driver.sender.run())
        for duty in driver.led:
            group.create_task(repeat(duty, process.metrics, process.state))


CALM = 5
"""Rounds that found nothing to do after which a duty counts as done again: what failed may be at rest."""


async def repeat(duty: Duty, metrics: Metrics, state: State) -> None:
    """A duty round after round; one that cannot be done now is tried again next time, which is said once."""
    log = structlog.get_logger("lucius.duties").bind(duty=duty.name)
    hindered: str | None = None
    calm = 0
    while True:
        try:
            report = await duty.run_once()
        except LuciusError as error:
            calm = 0
            known = error.code == "TEMPORAL_UNAVAILABLE" and "temporal" in state.missed
            if error.code != hindered and not known:  # that Temporal is away is said elsewhere, once
                log.warning("duty put off", code=error.code, reason=error.message)
                hindered = error.code
        else:
            calm += 1
            if hindered is not None and (report.acted or calm >= CALM):
                log.info("duty done again")
                hindered = None
            metrics.observe_report(report)
            if report.more:
                continue
        await nature.sleep(duty.interval)


async def settle(driver: Driver, patience: float) -> None:
    """Finish judging what was read, and publish what was started; `patience` in seconds."""
    for intake in driver.intakes:
        intake.stop()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(patience):
            while any(intake.busy for intake in driver.intakes):
                await nature.sleep(_LOOK)
            await driver.relay.drained()


async def let_go(process: Process) -> None:
    """Close what is open, when nothing works any more."""
    await process.bus.close()
    await process.ledger.close()
    if process.driver is not None:
        process.driver.leadership.close()
    for close in process.closing:
        closed = close()
        if closed is not None:
            await closed
