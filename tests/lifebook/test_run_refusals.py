"""Whatever the table does not have is refused, leaves the record as it was, and is said in the log."""

from __future__ import annotations

import pytest
from structlog.testing import CapturingLogger

from lucius.lifebook.core.policy import Policy
from lucius.lifebook.core.states import TERMINAL
from lucius.lifebook.usecases import change
from lucius.testing.lifebook.runs import NOW
from tests.lifebook.test_run_moves import COMMANDS, GRID, RUNS
from tests.lifebook.world import opened


async def test_every_illegal_move_is_refused_and_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pair that the grid refuses, on a real store: same record afterwards, one line that says why."""
    refused = waiting = 0
    async with opened() as world:
        changes = change.Changes(world.store, policy=Policy(), clock=lambda: NOW)
        for where, run in RUNS.items():
            created = await world.store.create(run, opening=10**6)
            assert created.fresh
            for what, command in COMMANDS.items():
                code = GRID[where][what]
                if not code.isupper():
                    continue
                # A logger of its own: how logs are set up belongs to the process, not to this test.
                said = CapturingLogger()
                monkeypatch.setattr(change, "_log", said)
                changed = await changes.apply(run.job_id, command)
                assert changed.refused is not None, (where, what)
                assert await world.run(run.job_id) == run
                [(level, (event,), line)] = said.calls
                assert (event, line["code"], line["job_id"]) == (
                    "transition refused",
                    code,
                    run.job_id,
                )
                assert (line["status"], line["command"]) == (
                    run.status.value,
                    type(command).__struct_config__.tag,
                )
                # Waiting for a lock or a backoff is everyday; the rest is worth a look.
                later = changed.refused.until is not None
                assert level == ("debug" if later else "warning")
                refused, waiting = refused + 1, waiting + later
    ended = sum(run.status in TERMINAL for run in RUNS.values())
    assert refused >= ended * (len(COMMANDS) - 1) + waiting > waiting > 0
