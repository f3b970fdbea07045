from __future__ import annotations

from collections.abc import Awaitable

import pytest

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
