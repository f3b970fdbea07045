"""Lifebook runs: the desk the API asks, the worker, and its duties, on a file or on AWS.

Whether this process runs steps is `lifebook_concurrency`; the duties go with it, for several processes may do
them at once and nobody need do them twice.
"""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import msgspec

from lucius.lifebook.desk import LifebookDesk
from lucius.lifebook.duties.dead_letters import DeadLetters
from lucius.lifebook.duties.forgetting import Forgetting
from lucius.lifebook.duties.sweeper import Sweeper
from lucius.lifebook.duties.telling import Telling
from lucius.lifebook.observed import ObservedQueue, ObservedRuns
from lucius.lifebook.ports.queue import RunQueue
from lucius.lifebook.ports.store import RunStore
from lucius.lifebook.ports.watching import UNWATCHED, Watch
from lucius.lifebook.triggers.desk import Triggers
from lucius.lifebook.triggers.file_drop import FileDrop
from lucius.lifebook.triggers.schedules import Schedules
from lucius.lifebook.usecases.change import Changes
from lucius.lifebook.usecases.control import Control
from lucius.lifebook.usecases.create import Create
from lucius.lifebook.usecases.look import Look
from lucius.lifebook.worker.poller import Poller
from lucius.lifebook.worker.worker import Worker
from lucius.lifebook.workflows import Registry
from lucius.runtime import nature
from lucius.runtime.building.lifebook_backends import Backend, load_registry, open_backend

if TYPE_CHECKING:
    from lucius.ports.duties import Duty
    from lucius.runtime.settings import Settings


class Lifebook(msgspec.Struct, frozen=True, kw_only=True):
    """Lifebook runs in one process, at rest."""

    desk: LifebookDesk
    worker: Worker
    poller: Poller | None
    """None: runs are executed elsewhere."""
    duties: tuple[Duty, ...]
    backend: Backend


async def open_lifebook(settings: Settings, watch: Watch = UNWATCHED) -> Lifebook | None:
    """All of it; None where runs are off. `watch`: who is told what happens to runs."""
    if settings.lifebook_backend == "off":
        return None
    registry = load_registry(settings.lifebook_workflows)
    return assemble(settings, await open_backend(settings), registry, watch)


def assemble(settings: Settings, backend: Backend, registry: Registry, watch: Watch = UNWATCHED) -> Lifebook:
    """Use cases, worker and duties on a backend."""
    policy, clock = settings.lifebook_policy, nature.now_ms
    store: RunStore = ObservedRuns(backend.store, watch)
    queue: RunQueue = ObservedQueue(backend.queue, watch, clock=clock)
    backend = msgspec.structs.replace(backend, store=store, queue=queue)
    changes = Changes(backend.store, policy=policy, clock=clock, watch=watch)
    create = Create(
        backend.store, backend.queue, changes, registry,
        policy=policy, clock=clock, new_id=nature.random_id,
        opening=round(settings.lifebook_opening_credits * 100),
    )  # fmt: skip
    control = Control(changes, create)
    letters = DeadLetters(
        backend.dead, backend.store, changes, control, interval=settings.lifebook_sweep_seconds
    )
    worker = Worker(
        backend.store, backend.queue, changes, registry,
        owner=f"{socket.gethostname()}:{os.getpid()}", policy=policy, clock=clock,
        sleep=nature.sleep, new_id=nature.random_id, spread=nature.spread, watch=watch,
    )  # fmt: skip
    desk = LifebookDesk(
        create=create,
        control=control,
        look=Look(backend.store),
        dead_letters=letters,
        triggers=Triggers(
            backend.triggers, create, registry,
            clock=clock, new_id=nature.random_id, token_bytes=nature.token_bytes,
        ),
        registry=registry,
    )  # fmt: skip
    at_work = settings.lifebook_concurrency > 0
    poller = Poller(
        worker, backend.queue,
        policy=policy, sleep=nature.sleep, wait_seconds=backend.wait_seconds,
        concurrency=settings.lifebook_concurrency,
    )  # fmt: skip
    return Lifebook(
        desk=desk,
        worker=worker,
        poller=poller if at_work else None,
        duties=_duties(settings, backend, changes, desk) if at_work else (),
        backend=backend,
    )


def _duties(settings: Settings, backend: Backend, changes: Changes, desk: LifebookDesk) -> tuple[Duty, ...]:
    clock, interval = nature.now_ms, settings.lifebook_sweep_seconds
    duties: tuple[Duty, ...] = (
        Sweeper(backend.store, changes, desk.create, clock=clock, interval=interval),
        desk.dead_letters,
        Telling(backend.store, backend.analytics, clock=clock, interval=min(1.0, interval)),
        Forgetting(backend.store, clock=clock),
        Schedules(backend.triggers, desk.create, clock=clock, interval=min(1.0, interval)),
    )
    if settings.lifebook_drop is None:
        return duties
    settings.lifebook_drop.mkdir(parents=True, exist_ok=True)
    return (*duties, FileDrop(settings.lifebook_drop, desk.create, new_id=nature.random_id))
