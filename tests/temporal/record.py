"""Records the histories that tests replay: `python -m tests.temporal.record [NAME …]`.

Plays each scenario on a real Temporal server and writes `histories/NAME.json`. Histories are kept for as
long as workflows of their release may run: a new one is recorded under a new name (`--suffix=-2`) when the
workflow changed behind `workflow.patched`, and an old one goes when nothing of its time is left.

Names of machines, processes and files are taken out; times and ids stay, for replay draws on them.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from temporalio.client import WorkflowHistory

from lucius.engines.temporal.connection import Whereabouts, connect
from lucius.runtime import temporal_server as starting
from lucius.testing.temporal import temporal_server
from tests.temporal.scenarios import FRESH, SCENARIOS, fresh_runs
from tests.temporal.world import LiveWorld

HISTORIES = Path(__file__).parent / "histories"
FRESH_AFTER = {"limit.historyCount.suggestContinueAsNew": "20"}
SAID_OTHERWISE = {"identity": "lucius", "stackTrace": "", "buildId": "lucius", "binaryChecksum": ""}
"""Fields that tell where and by whom a history was made."""


def scrubbed(found: Any) -> Any:
    """Without anything of the machine that made it."""
    if isinstance(found, list):
        return [scrubbed(each) for each in found]
    if not isinstance(found, dict):
        return found
    clean = {name: SAID_OTHERWISE.get(name, scrubbed(value)) for name, value in found.items()}
    if isinstance(clean.get("taskQueue"), dict):
        clean["taskQueue"] = {"name": "lucius"}
    return clean


async def record(server: dict[str, str], names: list[str], suffix: str) -> None:
    """Play these on a server with these switches, and write what happened."""
    with (
        tempfile.TemporaryDirectory() as directory,
        mock.patch.dict(starting._SWITCHES, server),
        temporal_server(Path(directory)) as running,
    ):
        client = await connect(Whereabouts(address=running.address), lazy=False)
        world = LiveWorld(Path(directory) / "ledger.db", client, attributes=True)
        await world.start()
        for name in names:
            job = await (fresh_runs if name == FRESH else SCENARIOS[name])(world)
            runs = await _runs(world, job.job_id)
            kept = {f"{FRESH}-{number}": run for number, run in enumerate(runs, 1)}
            for called, history in (kept if name == FRESH else {name: runs[-1]}).items():
                text = json.dumps(scrubbed(history.to_json_dict()), separators=(",", ":"))
                (HISTORIES / f"{called}{suffix}.json").write_text(text + "\n", encoding="utf-8")
        await world.stop()


async def _runs(world: LiveWorld, job_id: str) -> list[WorkflowHistory]:
    """Every run of a workflow, the first one first."""
    found: list[WorkflowHistory] = []
    run_id: str | None = (await world.client.get_workflow_handle(job_id).describe()).run_id
    while run_id:
        history = await world.client.get_workflow_handle(job_id, run_id=run_id).fetch_history()
        found.insert(0, history)
        run_id = history.events[0].workflow_execution_started_event_attributes.continued_execution_run_id
    return found


async def main(words: list[str]) -> None:
    """All of them, or those that are named."""
    suffix = next((word.partition("=")[2] for word in words if word.startswith("--suffix=")), "")
    names = [word for word in words if not word.startswith("--")] or [*SCENARIOS, FRESH]
    HISTORIES.mkdir(exist_ok=True)
    await record({}, [name for name in names if name != FRESH], suffix)
    if FRESH in names:
        await record(FRESH_AFTER, [FRESH], suffix)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
