"""What every store of triggers must do.

Bind it so:

    class TestMyTriggers(TriggerStoreSuite):
        @pytest.fixture
        async def triggers(self):
            yield MyTriggers(...)   # empty
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lucius.lifebook.ports.store import RunConflictError
from lucius.lifebook.ports.triggers import Hook, Schedule, TriggerStore
from lucius.testing.lifebook.runs import NOW


def schedule(schedule_id: str = "s-1", **more: Any) -> Schedule:
    """A schedule; `more` replaces fields."""
    fields: dict[str, Any] = {
        "schedule_id": schedule_id,
        "workspace_id": "acme",
        "user_id": "ada",
        "workflow_id": "nightly",
        "cron": "0 3 * * *",
        "input": {"text": "Größe", "deep": [1, None, 0.5]},
        "next_at": NOW,
        "created_at": NOW - 1000,
    }
    return Schedule(**fields | more)


def hook(hook_id: str = "h-1", **more: Any) -> Hook:
    """A hook; `more` replaces fields."""
    fields: dict[str, Any] = {
        "hook_id": hook_id,
        "workspace_id": "acme",
        "user_id": "ada",
        "workflow_id": "nightly",
        "secret": "whsec_AAAA",
        "input": {"source": "ünit"},
        "created_at": NOW,
    }
    return Hook(**fields | more)


class TriggerStoreSuite:
    """The promises of the port of triggers. Bind `triggers` and inherit."""

    async def test_a_schedule_is_kept(self, triggers: TriggerStore) -> None:
        """What was written is read back, every field of it; what was not is None."""
        await triggers.put_schedule(schedule(), before=None)
        assert await triggers.schedule("s-1") == schedule()
        assert await triggers.schedule("s-2") is None

    async def test_a_schedule_is_new_once(self, triggers: TriggerStore) -> None:
        """An id that is taken cannot be made again."""
        await triggers.put_schedule(schedule(), before=None)
        with pytest.raises(RunConflictError):
            await triggers.put_schedule(schedule(cron="* * * * *"), before=None)
        assert await triggers.schedule("s-1") == schedule()

    async def test_a_schedule_changes_by_version(self, triggers: TriggerStore) -> None:
        """A change names the version it was made on; one that was overtaken, or has no schedule, fails."""
        await triggers.put_schedule(schedule(), before=None)
        newer = schedule(version=2, next_at=NOW + 60_000)
        await triggers.put_schedule(newer, before=1)
        for late, before in ((schedule(version=2), 1), (schedule("s-9", version=2), 1)):
            with pytest.raises(RunConflictError):
                await triggers.put_schedule(late, before=before)
        assert await triggers.schedule("s-1") == newer
        assert await triggers.schedule("s-9") is None

    async def test_one_of_many_changes_wins(self, triggers: TriggerStore) -> None:
        """Sixteen changes of one version at once: one is written, the others hear so."""
        await triggers.put_schedule(schedule(), before=None)
        wanted = [schedule(version=2, next_at=NOW + at) for at in range(16)]
        outcomes = await asyncio.gather(
            *(triggers.put_schedule(each, before=1) for each in wanted), return_exceptions=True
        )
        won = [each for each, outcome in zip(wanted, outcomes, strict=True) if outcome is None]
        assert all(outcome is None or isinstance(outcome, RunConflictError) for outcome in outcomes)
        assert won == [await triggers.schedule("s-1")]

    async def test_schedules_are_listed_by_workspace(self, triggers: TriggerStore) -> None:
        """All of a workspace by id, none of another's."""
        for name in ("s-3", "s-1"):
            await triggers.put_schedule(schedule(name), before=None)
        await triggers.put_schedule(schedule("s-2", workspace_id="zeta"), before=None)
        assert list(await triggers.schedules("acme")) == [schedule("s-1"), schedule("s-3")]
        assert list(await triggers.schedules("nobody")) == []

    async def test_due_schedules_are_found(self, triggers: TriggerStore) -> None:
        """Enabled ones whose time has come, the most overdue first, no more than asked for."""
        times = {"s-1": NOW + 20, "s-2": NOW + 10, "s-3": NOW + 30}
        for name, at in times.items():
            await triggers.put_schedule(schedule(name, next_at=at), before=None)
        await triggers.put_schedule(schedule("s-4", next_at=NOW, enabled=False), before=None)
        found = await triggers.due_schedules(NOW + 20, 10)
        assert [each.schedule_id for each in found] == ["s-2", "s-1"]
        assert [each.schedule_id for each in await triggers.due_schedules(NOW + 99, 1)] == ["s-2"]

    async def test_a_schedule_is_due_at_its_new_time(self, triggers: TriggerStore) -> None:
        """What was moved or switched off is not due any more."""
        for name in ("s-1", "s-2", "s-3"):
            await triggers.put_schedule(schedule(name), before=None)
        await triggers.put_schedule(schedule("s-1", version=2, next_at=NOW + 60_000), before=1)
        await triggers.put_schedule(schedule("s-2", version=2, enabled=False), before=1)
        assert list(await triggers.due_schedules(NOW, 10)) == [schedule("s-3")]

    async def test_a_removed_schedule_is_gone(self, triggers: TriggerStore) -> None:
        """It is neither found nor due; removing it again does no harm."""
        await triggers.put_schedule(schedule(), before=None)
        await triggers.remove_schedule("s-1")
        await triggers.remove_schedule("s-1")
        assert await triggers.schedule("s-1") is None
        assert list(await triggers.schedules("acme")) == []
        assert list(await triggers.due_schedules(NOW + 1, 10)) == []

    # --- hooks

    async def test_a_hook_is_kept(self, triggers: TriggerStore) -> None:
        """What was written is read back, every field of it; a taken id is refused."""
        await triggers.put_hook(hook())
        with pytest.raises(RunConflictError):
            await triggers.put_hook(hook(secret="whsec_BBBB"))  # noqa: S106 - stands for one
        assert await triggers.hook("h-1") == hook()
        assert await triggers.hook("h-2") is None

    async def test_hooks_are_listed_by_workspace(self, triggers: TriggerStore) -> None:
        """All of a workspace by id, none of another's, and no schedules among them."""
        for name in ("h-3", "h-1"):
            await triggers.put_hook(hook(name))
        await triggers.put_hook(hook("h-2", workspace_id="zeta"))
        await triggers.put_schedule(schedule(), before=None)
        assert list(await triggers.hooks("acme")) == [hook("h-1"), hook("h-3")]
        assert list(await triggers.schedules("acme")) == [schedule()]

    async def test_a_removed_hook_is_gone(self, triggers: TriggerStore) -> None:
        """It is not found; removing it again does no harm."""
        await triggers.put_hook(hook())
        await triggers.remove_hook("h-1")
        await triggers.remove_hook("h-1")
        assert await triggers.hook("h-1") is None
        assert list(await triggers.hooks("acme")) == []
