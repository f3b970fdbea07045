from __future__ import annotations

from collections.abc import Awaitable

import pytest

from lucius.engines.temporal.lost_starts import LostStarts
from lucius.ports.ledger import Change, Judge
from tests.temporal.world import LiveWorld


async def test_what_a_workflow_waits_for_is_written_at_once(
    world: LiveWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The note that a directive is out does not wait for company: a workflow waits for it."""
    change, patient_ones = world.sqlite.change, []

    def watched(job_id: str, judge: Judge, *, patient: bool = False) -> Awaitable[Change | None]:
        patient_ones.append(patient)
        return change(job_id, judge, patient=patient)

    monkeypatch.setattr(world.sqlite, "change", watched)
    await world.opened()
    await world.take()
    await world.rest()
    assert patient_ones == [False, False]  # the attempt, and that it was published


async def test_a_job_that_waits_for_a_worker_is_not_started_again(world: LiveWorld) -> None:
    """Work that piles up is not made more by starting it twice; after a while somebody looks all the same."""

    def lost(later: int) -> LostStarts:
        return LostStarts(world.ledger, world.starts, clock=lambda: world.clock() + later, patience=10_000)

    await world.worker_away()
    await world.opened()
    looked = [(await lost(later).run_once()).details for later in (4_000, 20_000)]
    assert looked == [{"looked": 0, "started": 0}, {"looked": 1, "started": 0}]
    world.worker_back()
    await world.take()
