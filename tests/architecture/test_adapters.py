"""Adapters do not inherit from ports; the functions below bind them.

mypy proves each binding: a function that takes the adapter and returns it as its port is an error as soon
as a method is missing or has another type. The tests see to it that no port is forgotten, and that
parameters have the names callers use.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable
from typing import Any

import pytest

from lucius.adapters.buses.embedded import EmbeddedBus
from lucius.adapters.buses.sqlite import SqliteBus
from lucius.adapters.invokers.http import HttpInvoker
from lucius.adapters.keyrings.sqlite import SqliteKeyring
from lucius.adapters.ledgers.sqlite.deliveries import SqliteDeliveries
from lucius.adapters.ledgers.sqlite.ledger import SqliteLedger
from lucius.adapters.ledgers.sqlite.shared_ledger import SharedSqliteLedger
from lucius.adapters.observed import ObservedBus
from lucius.adapters.schematics.files import FileSchematics
from lucius.engines.outbox.due import DueJobs
from lucius.engines.outbox.engine import OutboxEngine
from lucius.ports.bus import Bus
from lucius.ports.deliveries import Deliveries
from lucius.ports.duties import Duty
from lucius.ports.engine import Engine
from lucius.ports.invoker import Invoker
from lucius.ports.keyring import Keyring
from lucius.ports.ledger import Ledger
from lucius.ports.schematics import Schematics
from lucius.usecases.retention import Retention
from tests.architecture.tree import ports


def keyring_sqlite(adapter: SqliteKeyring) -> Keyring:
    """API keys in SQLite."""
    return adapter


def ledger_sqlite(adapter: SqliteLedger) -> Ledger:
    """Jobs in SQLite."""
    return adapter


def ledger_shared_sqlite(adapter: SharedSqliteLedger) -> Ledger:
    """Jobs in SQLite, written by several processes."""
    return adapter


def deliveries_sqlite(adapter: SqliteDeliveries) -> Deliveries:
    """Webhook deliveries in SQLite."""
    return adapter


def bus_embedded(adapter: EmbeddedBus) -> Bus:
    """The bus in memory."""
    return adapter


def bus_sqlite(adapter: SqliteBus) -> Bus:
    """The bus in a file."""
    return adapter


def bus_observed(adapter: ObservedBus) -> Bus:
    """Any bus with telemetry round it."""
    return adapter


def invoker_http(adapter: HttpInvoker) -> Invoker:
    """An invoker in another process."""
    return adapter


def schematics_files(adapter: FileSchematics) -> Schematics:
    """Protocols, tenants and limits from files."""
    return adapter


def engine_outbox(adapter: OutboxEngine) -> Engine:
    """Jobs driven by the ledger."""
    return adapter


def duty_due(adapter: DueJobs) -> Duty:
    """The reconciler."""
    return adapter


def duty_retention(adapter: Retention) -> Duty:
    """Forgetting."""
    return adapter


BINDINGS: list[Callable[[Any], object]] = [
    keyring_sqlite,
    ledger_sqlite,
    ledger_shared_sqlite,
    deliveries_sqlite,
    bus_embedded,
    bus_sqlite,
    bus_observed,
    invoker_http,
    schematics_files,
    engine_outbox,
    duty_due,
    duty_retention,
]


def _bound(binding: Callable[[Any], object]) -> tuple[type, type]:
    """The adapter and the port that a binding names."""
    hints = typing.get_type_hints(binding)
    return hints["adapter"], hints["return"]


def test_every_port_has_an_adapter() -> None:
    """A port that nothing implements is a promise nobody keeps."""
    bound = {_bound(binding)[1] for binding in BINDINGS}
    assert {port.__name__ for port in ports()} - {port.__name__ for port in bound} == set()


@pytest.mark.parametrize("binding", BINDINGS, ids=lambda binding: binding.__name__)
def test_adapters_take_what_their_port_says(binding: Callable[[Any], object]) -> None:
    """A caller that knows only the port can call the adapter, by position or by name."""
    adapter, port = _bound(binding)
    assert port not in adapter.__mro__
    for verb, promised in inspect.getmembers(port, inspect.isfunction):
        if verb.startswith("_"):
            continue
        given = inspect.signature(getattr(adapter, verb)).parameters
        asked = inspect.signature(promised).parameters
        assert list(given)[: len(asked)] == list(asked), verb
        assert inspect.iscoroutinefunction(getattr(adapter, verb)) == inspect.iscoroutinefunction(promised), (
            verb
        )
