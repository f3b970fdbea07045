"""Where jobs are kept and what carries messages: for this process alone, or shared with others.

Alone, the ledger's file is locked and the bus lives in memory. Shared, both are files of the data
directory, and each process hears that others have written by looking (`SharedSqliteLedger.watch`).
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from lucius.adapters.buses.embedded import EmbeddedBus
from lucius.adapters.buses.sqlite import SqliteBus
from lucius.adapters.ledgers.sqlite import SqliteLedger
from lucius.adapters.ledgers.sqlite.deliveries import SqliteDeliveries
from lucius.adapters.ledgers.sqlite.shared_ledger import SharedSqliteLedger
from lucius.adapters.observed import ObservedBus
from lucius.core.routing import reply_topics
from lucius.errors import Broken, Invalid, Unavailable
from lucius.runtime import nature
from lucius.runtime.process import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from lucius.runtime.building.watching import Watching
    from lucius.runtime.settings import Settings

    OnFailure = Callable[[BaseException], None]

AnyLedger: TypeAlias = SqliteLedger | SharedSqliteLedger
AnyBus: TypeAlias = EmbeddedBus | SqliteBus

BUS, STALE = "bus.db", "bus.db.stale"
REPLY_LOCK_SECONDS = 15.0
"""How long a reply is lent to an invoker: judging takes milliseconds, and when one dies others wait."""
REPLY_DELIVERIES = 1_000
"""While Temporal is away replies come again and again; that does not make them undeliverable."""


class Storage(msgspec.Struct, frozen=True, kw_only=True):
    """Ledger and bus of one process."""

    ledger: AnyLedger
    bus: AnyBus
    observed_bus: ObservedBus
    """The same, with its traffic counted."""
    deliveries: SqliteDeliveries
    """The log of webhooks."""
    watch: tuple[Work, ...] = ()
    """Looks for what other processes write."""


def make_room(settings: Settings) -> None:
    """The data directory; a ledger in memory must be meant."""
    if settings.data == Path(":memory:") and not settings.in_memory:
        message = "A ledger in memory forgets accepted jobs; if that is meant, say so with --in-memory."
        raise Invalid(message, code="LEDGER_NOT_DURABLE")
    if not settings.in_memory:
        settings.data.mkdir(mode=0o700, parents=True, exist_ok=True)


def exclusive(
    settings: Settings, watching: Watching, topics: Sequence[str], on_failure: OnFailure | None
) -> Storage:
    """For one process. `topics`: of directives."""
    ledger = SqliteLedger(
        settings.ledger_path,
        clock=nature.now_ms,
        on_failure=on_failure,
        observe=watching.metrics.observe_commit_seconds,
    )
    if not settings.in_memory and (settings.data / BUS).exists():
        (settings.data / STALE).touch()  # from now on directives go past it
    bus = EmbeddedBus(
        topics=(*topics, *reply_topics()),
        clock=nature.now_ms,
        lock_seconds=settings.lock_seconds,
        new_token=nature.lock_token,
    )
    return Storage(
        ledger=ledger,
        bus=bus,
        observed_bus=ObservedBus(bus, watching.metrics.observe_bus),
        deliveries=writing_deliveries(ledger),
    )


def shared(
    settings: Settings,
    watching: Watching,
    topics: Sequence[str],
    on_failure: OnFailure | None,
    *,
    writes: bool,
) -> Storage:
    """For processes of one machine on one data directory.

    `writes`: jobs that exist are written here. Who follows jobs hears when another process has written.
    """
    if settings.in_memory:
        message = "Processes that share a ledger need a data directory; leave --in-memory to `lucius up`."
        raise Invalid(message, code="BAD_SETTINGS")
    ledger = SharedSqliteLedger(
        settings.ledger_path,
        clock=nature.now_ms,
        on_failure=on_failure,
        observe=watching.metrics.observe_commit_seconds,
    )
    ledger.on_foreign_commit(watching.hub.rouse)
    bus = SqliteBus(
        settings.data / BUS,
        topics=(*topics, *reply_topics()),
        clock=nature.now_ms,
        new_token=nature.lock_token,
        lock_seconds=REPLY_LOCK_SECONDS if writes else settings.lock_seconds,
        max_deliveries=REPLY_DELIVERIES if writes else 10,
    )
    return Storage(
        ledger=ledger,
        bus=bus,
        observed_bus=ObservedBus(bus, watching.metrics.observe_bus),
        deliveries=writing_deliveries(ledger) if writes else SqliteDeliveries(ledger.reader.query, _refuse),
        watch=(partial(ledger.watch, nature.sleep),),
    )


async def bus_is_new(settings: Settings, storage: Storage, replies: str) -> bool:
    """Whether the bus lacks what the ledger calls published. Asked once: the next one is told no.

    So it is when no invoker has ever read replies from it, and when a Lucius with a bus of its own has
    driven the jobs since.
    """
    stale = settings.data / STALE
    if stale.exists():
        stale.unlink(missing_ok=True)
        return True
    try:
        return replies not in await storage.bus.backlog()
    except Unavailable:  # it is there, and somebody is at it
        return False


def writing_deliveries(ledger: AnyLedger) -> SqliteDeliveries:
    """The webhook log, written in the ledger's own transactions."""
    return SqliteDeliveries(ledger.reader.query, lambda sql, values: ledger.execute([(sql, [values])]))


async def _refuse(_sql: str, _values: tuple[Any, ...]) -> None:
    raise Broken("The orchestrator sends no webhooks: that is the invoker's.", code="NOT_THE_OWNER")
