"""Where lifebook runs are kept: a file in the data directory, or DynamoDB and SQS; and the workflows."""

from __future__ import annotations

import importlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec
import structlog

from lucius.errors import Invalid
from lucius.lifebook.ports.queue import RunQueue
from lucius.lifebook.ports.store import RunStore
from lucius.lifebook.ports.telling import Analytics
from lucius.lifebook.ports.triggers import TriggerStore
from lucius.lifebook.workflows import Registry
from lucius.runtime import nature

if TYPE_CHECKING:
    from lucius.runtime.settings import Settings

FILE, EVENTS = "lifebook.db", "lifebook-events.jsonl"
LONG_POLL_SECONDS = 5.0
"""A stop lets receives end by themselves: a message lent to somebody who hung up is hidden for a lease."""


class Backend(msgspec.Struct, frozen=True, kw_only=True):
    """Where runs are kept and what carries their messages."""

    store: RunStore
    triggers: TriggerStore
    queue: RunQueue
    dead: RunQueue
    analytics: Analytics
    wait_seconds: float
    """How long a worker waits for a message in one call."""
    close: Callable[[], Awaitable[None]]


async def open_backend(settings: Settings) -> Backend:
    """The one that the settings name."""
    return await _aws(settings) if settings.lifebook_backend == "aws" else _sqlite(settings)


def load_registry(where: str) -> Registry:
    """The registry at `module:name`; raises `Invalid` when there is none."""
    module, _, name = where.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:
        # Whatever the module does when it is imported is its author's to mend.
        raise Invalid(
            f"LUCIUS_LIFEBOOK_WORKFLOWS={where} cannot be loaded: {type(error).__name__}: {error}; "
            "write module:name of a Registry",
            code="BAD_SETTINGS",
        ) from error
    if not isinstance(found, Registry):
        raise Invalid(
            f"LUCIUS_LIFEBOOK_WORKFLOWS={where} is a {type(found).__name__}, not a Registry",
            code="BAD_SETTINGS",
        )
    return found


def _sqlite(settings: Settings) -> Backend:
    from lucius.lifebook.adapters.journal import JournalAnalytics
    from lucius.lifebook.adapters.sqlite import LifebookFile, SqliteQueue, SqliteRuns, SqliteTriggers

    path = ":memory:" if settings.in_memory else str(settings.data / FILE)
    file = LifebookFile(path, clock=nature.now_ms)
    dead = SqliteQueue(file, "dead", dead=None, sleep=nature.sleep, new_id=nature.new_id)
    return Backend(
        store=SqliteRuns(file),
        triggers=SqliteTriggers(file),
        queue=SqliteQueue(file, "work", dead="dead", sleep=nature.sleep, new_id=nature.new_id),
        dead=dead,
        analytics=JournalAnalytics(None if settings.in_memory else settings.data / EVENTS),
        wait_seconds=1.0,
        close=file.close,
    )


async def _aws(settings: Settings) -> Backend:
    try:
        from lucius.lifebook.adapters.aws.connecting import connect
    except ImportError as error:
        raise Invalid(
            f"LUCIUS_LIFEBOOK_BACKEND=aws needs the extra [aws] ({error}); install lucius[aws]",
            code="BAD_SETTINGS",
        ) from error
    from lucius.lifebook.adapters.aws.queue import SqsQueue
    from lucius.lifebook.adapters.aws.runs import DynamoRuns
    from lucius.lifebook.adapters.aws.telling import EventBridgeAnalytics
    from lucius.lifebook.adapters.aws.triggers import DynamoTriggers
    from lucius.lifebook.adapters.journal import JournalAnalytics

    bus, table = settings.lifebook_event_bus, settings.lifebook_table
    services = ("dynamodb", "sqs", "events") if bus else ("dynamodb", "sqs")
    if not bus and settings.lifebook_concurrency:
        structlog.get_logger("lucius.lifebook").warning(
            "events of runs go to this log and nowhere else; analytics needs LUCIUS_LIFEBOOK_EVENT_BUS"
        )
    clients = await connect(
        region=settings.lifebook_region, endpoint=settings.lifebook_endpoint, services=services
    )
    sleep, chance, new_id = nature.sleep, nature.spread, nature.new_id
    return Backend(
        store=DynamoRuns(clients.dynamodb, table=table, sleep=sleep, chance=chance, new_id=new_id),
        triggers=DynamoTriggers(clients.dynamodb, table=table, sleep=sleep, chance=chance, new_id=new_id),
        queue=SqsQueue(clients.sqs, settings.lifebook_queue),
        dead=SqsQueue(clients.sqs, settings.lifebook_dlq),
        analytics=EventBridgeAnalytics(clients.events, bus=bus) if bus else JournalAnalytics(None),
        wait_seconds=LONG_POLL_SECONDS,
        close=clients.close,
    )
