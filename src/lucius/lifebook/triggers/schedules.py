"""A duty: slots of schedules that are due become runs, each once.

The run comes first, under a key that names the schedule and the slot; then the schedule moves on, on
condition that nobody else moved it. A crash in between fires the slot again into the same key. A clock that
goes back finds `next_at` ahead of it and waits.

    several slots were missed      the latest is fired, those before are skipped, and the log says so
    the run is refused             logged and counted; the schedule moves on
    the store is away              nothing moves; the next round tries again
    its cron can no longer be read, or never comes again      the schedule is paused
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import msgspec
import structlog

from lucius.errors import Invalid, LuciusError, Unavailable
from lucius.lifebook.core.keys import KeySpace
from lucius.lifebook.core.states import TriggerType
from lucius.lifebook.ports.store import RunConflictError
from lucius.lifebook.ports.triggers import Schedule, TriggerStore
from lucius.lifebook.triggers import cron as times
from lucius.lifebook.usecases.create import Create, RunRequest
from lucius.ports.duties import Report

_log = structlog.get_logger("lucius.lifebook")


class Schedules:
    """Fires what is due."""

    name = "lifebook-schedules"

    def __init__(
        self,
        store: TriggerStore,
        create: Create,
        *,
        clock: Callable[[], int],
        interval: float = 1.0,
        limit: int = 100,
    ) -> None:
        self._store = store
        self._create = create
        self._clock = clock
        self.interval = interval
        self._limit = limit

    async def run_once(self) -> Report:
        """Fire the slots that are due; raises `Unavailable` when the store is away."""
        now = self._clock()
        due = await self._store.due_schedules(now, self._limit)
        counts: Counter[str] = Counter(fired=0, again=0, refused=0, skipped=0, overtaken=0)
        for schedule in due:
            await self._take(schedule, now, counts)
        return Report(
            duty=self.name,
            acted=counts["fired"],
            details=dict(counts),
            more=len(due) == self._limit and counts["overtaken"] < len(due),
        )

    async def _take(self, schedule: Schedule, now: int, counts: Counter[str]) -> None:
        try:
            slot = max(schedule.next_at, times.latest(schedule.cron, now))
            next_at: int | None = times.after(schedule.cron, slot)
        except Invalid:
            slot, next_at = schedule.next_at, None
        if slot != schedule.next_at:
            counts["skipped"] += 1
            _log.warning(
                "slots were missed; the latest is fired, those before are not",
                schedule_id=schedule.schedule_id,
                first=times.slot_name(schedule.next_at),
                fired=times.slot_name(slot),
            )
        await self._fire(schedule, slot, counts)
        await self._move(schedule, next_at, counts)

    async def _fire(self, schedule: Schedule, slot: int, counts: Counter[str]) -> None:
        try:
            created = await self._create.create(request_of(schedule, slot))
        except Unavailable:
            raise
        except LuciusError as error:
            counts["refused"] += 1
            _log.warning(
                "the run of a schedule was refused",
                schedule_id=schedule.schedule_id,
                workspace_id=schedule.workspace_id,
                workflow_id=schedule.workflow_id,
                slot=times.slot_name(slot),
                code=error.code,
                reason=error.message,
            )
        else:
            counts["fired" if created.fresh else "again"] += 1

    async def _move(self, schedule: Schedule, next_at: int | None, counts: Counter[str]) -> None:
        moved = msgspec.structs.replace(
            schedule,
            next_at=schedule.next_at if next_at is None else next_at,
            enabled=next_at is not None,
            version=schedule.version + 1,
        )
        if next_at is None:
            _log.error("a schedule has no next time and is paused", schedule_id=schedule.schedule_id)
        try:
            await self._store.put_schedule(moved, before=schedule.version)
        except RunConflictError:  # another process, or somebody paused or removed it
            counts["overtaken"] += 1


def request_of(schedule: Schedule, slot: int) -> RunRequest:
    """What is asked for at a slot: the same every time it is asked."""
    return RunRequest(
        workspace_id=schedule.workspace_id,
        user_id=schedule.user_id,
        workflow_id=schedule.workflow_id,
        trigger_type=TriggerType.SCHEDULE,
        input=schedule.input,
        key=f"schedule:{schedule.schedule_id}:{times.slot_name(slot)}",
        space=KeySpace.SCHEDULE,
    )
