"""The drift check where the relay is in another process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lucius.ports.duties import Report, Round
from lucius.usecases.drift import LATE, Check, look_for_drift
from tests.api.world import World


class Elsewhere:
    """An engine whose directives wait where it cannot look."""

    driver = "workflow"

    def waiting(self) -> dict[str, int] | None:
        """Not known here."""
        return None


async def checks(api: World, now: int, rounds: Mapping[str, Round] | None = None) -> dict[str, Check]:
    """What is found, by name."""
    engine: Any = Elsewhere()
    found = await look_for_drift(
        api.lucius.ledger, engine, api.lucius.bus, now=now, rounds={} if rounds is None else rounds
    )
    return {check.name: check for check in found.checks}


async def test_what_is_not_known_is_not_compared(api: World) -> None:
    """An engine without a relay does not say that relay and ledger agree."""
    job_id = await api.submit()
    found = await checks(api, await accepted(api, job_id))
    relay = found["relay_holds_what_is_unsent"]
    assert relay.detail == "Not compared: the relay is in the invoker, unseen from here."
    assert "waiting_in_relay" not in relay.figures


async def test_late_jobs_point_at_the_worker(api: World) -> None:
    """Whoever finds due jobs waiting is told which parts of the temporal engine to look at."""
    job_id = await api.submit()
    late = await accepted(api, job_id) + 86_400_000 + LATE
    due = (await checks(api, late))["due_jobs_are_ticked"]
    assert not due.ok
    assert "temporal worker" in due.detail


async def test_the_last_rounds_are_told(api: World) -> None:
    """What the duties of this process found is there with its age; a duty without figures is not."""
    rounds = {
        "lost-starts": Round(
            at=1_000, report=Report(duty="lost-starts", acted=2, details={"looked": 5, "started": 2})
        ),
        "temporal-pulse": Round(at=1_000, report=Report(duty="temporal-pulse")),
    }
    found = await checks(api, 4_000, rounds)
    assert found["duty:lost-starts"].figures == {"looked": 5, "started": 2, "acted": 2, "ms_ago": 3_000}
    assert "duty:temporal-pulse" not in found


async def accepted(api: World, job_id: str) -> int:
    """When a job came in."""
    job = await api.lucius.ledger.job(job_id)
    assert job is not None
    return job.order.accepted_at
