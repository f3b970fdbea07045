"""Schedules and hooks, for the edges: make, show, remove. Whoever calls has checked who may.

A schedule that is resumed goes on with its next time from now; what it missed while paused is not fired.
The secret of a hook is in the record that `make_hook` returns, and should be told there only.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from lucius.errors import Invalid, NotFound, Problem, Refused
from lucius.lifebook.core.keys import fingerprint
from lucius.lifebook.ports.store import Created, RunConflictError
from lucius.lifebook.ports.triggers import Hook, Schedule, TriggerStore
from lucius.lifebook.triggers import cron as times
from lucius.lifebook.triggers.hooks import PREFIX, Hooks
from lucius.lifebook.usecases.create import MAX_INPUT_BYTES, Create
from lucius.lifebook.workflows import Registry

MOST = 1_000
"""Schedules of one workspace, and hooks."""
SECRET_BYTES = 32
TRIES = 20
"""A schedule is written by its duty once a slot, and by people."""


class Triggers:
    """Makes, shows and removes them, and takes what the callers of hooks send."""

    def __init__(
        self,
        store: TriggerStore,
        create: Create,
        registry: Registry,
        *,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        token_bytes: Callable[[int], bytes],
    ) -> None:
        """`token_bytes` makes secrets: nobody may guess what it returns."""
        self._store = store
        self._registry = registry
        self._clock = clock
        self._new_id = new_id
        self._token_bytes = token_bytes
        self._hooks = Hooks(store, create, clock=clock, stand_in=_secret(token_bytes(SECRET_BYTES)))

    async def make_schedule(
        self, *, workspace_id: str, user_id: str, workflow_id: str, cron: str, given: dict[str, Any]
    ) -> Schedule:
        """A new schedule; raises `Invalid` with a pointer to what is wrong."""
        self._check(workflow_id, given)
        now = self._clock()
        schedule = Schedule(
            schedule_id=self._new_id(),
            workspace_id=workspace_id,
            user_id=user_id,
            workflow_id=workflow_id,
            cron=times.check(cron),
            input=given,
            next_at=times.after(cron, now),
            created_at=now,
        )
        _room(await self._store.schedules(workspace_id), "schedules")
        await self._store.put_schedule(schedule, before=None)
        return schedule

    async def schedule(self, schedule_id: str) -> Schedule:
        """One schedule; raises `NotFound`."""
        found = await self._store.schedule(schedule_id)
        if found is None:
            raise NotFound(f"There is no schedule {schedule_id[:64]}.")
        return found

    async def schedules(self, workspace_id: str) -> Sequence[Schedule]:
        """All of a workspace."""
        return await self._store.schedules(workspace_id)

    async def pause(self, schedule_id: str) -> Schedule:
        """Fire nothing until it is resumed; raises `NotFound`."""
        return await self._enable(schedule_id, enabled=False)

    async def resume(self, schedule_id: str) -> Schedule:
        """Go on with the next time from now; raises `NotFound`."""
        return await self._enable(schedule_id, enabled=True)

    async def remove_schedule(self, schedule_id: str) -> None:
        """Forget it; the runs it started go on."""
        await self._store.remove_schedule(schedule_id)

    async def make_hook(
        self, *, workspace_id: str, user_id: str, workflow_id: str, given: dict[str, Any]
    ) -> Hook:
        """A new hook with a new secret; raises `Invalid` with a pointer to what is wrong."""
        self._check(workflow_id, given)
        hook = Hook(
            hook_id=self._new_id(),
            workspace_id=workspace_id,
            user_id=user_id,
            workflow_id=workflow_id,
            secret=_secret(self._token_bytes(SECRET_BYTES)),
            input=given,
            created_at=self._clock(),
        )
        _room(await self._store.hooks(workspace_id), "hooks")
        await self._store.put_hook(hook)
        return hook

    async def hook(self, hook_id: str) -> Hook:
        """One hook; raises `NotFound`."""
        found = await self._store.hook(hook_id)
        if found is None:
            raise NotFound(f"There is no hook {hook_id[:64]}.")
        return found

    async def hooks(self, workspace_id: str) -> Sequence[Hook]:
        """All of a workspace."""
        return await self._store.hooks(workspace_id)

    async def remove_hook(self, hook_id: str) -> None:
        """Forget it; from now on its callers are strangers."""
        await self._store.remove_hook(hook_id)

    async def receive(self, hook_id: str, headers: Mapping[str, str], body: bytes) -> Created:
        """The run of a signed request (`hooks.py`); `headers` by their lower-case names."""
        return await self._hooks.receive(hook_id, headers, body)

    async def _enable(self, schedule_id: str, *, enabled: bool) -> Schedule:
        for _ in range(TRIES):
            found = await self.schedule(schedule_id)
            if found.enabled is enabled:
                return found
            next_at = times.after(found.cron, self._clock()) if enabled else found.next_at
            changed = msgspec.structs.replace(
                found, enabled=enabled, next_at=next_at, version=found.version + 1
            )
            try:
                await self._store.put_schedule(changed, before=found.version)
            except RunConflictError:
                continue
            return changed
        raise RunConflictError(f"The schedule {schedule_id} changes too quickly to be written; try again")

    def _check(self, workflow_id: str, given: dict[str, Any]) -> None:
        """Refuse now what would be refused at every run."""
        if self._registry.find(workflow_id) is None:
            known = ", ".join(one.workflow_id for one in self._registry.all()) or "none"
            text = f"There is no workflow {workflow_id[:64]!r}; registered are: {known}"
            problem = Problem(pointer="/workflow_id", code="UNKNOWN_WORKFLOW", message=text)
            raise Invalid(text, code="UNKNOWN_WORKFLOW", problems=(problem,))
        fingerprint(workflow_id, "", given)
        if len(msgspec.json.encode(given)) > MAX_INPUT_BYTES:
            text = (
                f"The input is larger than {MAX_INPUT_BYTES} bytes; store it elsewhere and send a reference"
            )
            problem = Problem(pointer="/input", code="INPUT_TOO_LARGE", message=text)
            raise Invalid(text, code="INPUT_TOO_LARGE", problems=(problem,))


def _room(there: Sequence[object], what: str) -> None:
    if len(there) >= MOST:
        raise Refused(f"The workspace has {MOST} {what} already; remove one first", code="TOO_MANY_TRIGGERS")


def _secret(raw: bytes) -> str:
    return PREFIX + base64.b64encode(raw).decode()
