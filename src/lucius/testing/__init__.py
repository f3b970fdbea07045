"""Public conformance suites: bind an adapter to one in about twenty lines.

`buses.BusSuite`, `ledgers.LedgerSuite` and `engines.EngineSuite` tell whether an adapter or an engine
keeps the promises of its port; `bus_machine.BusMachine` and `ledger_model.LedgerMachine` drive one
against a small model. Suites branch on declared capabilities, never on types. They need pytest and
hypothesis.
"""

import pytest

_SUITES = (
    *("bus_harness", "bus_delivery", "bus_sharing", "bus_machine"),
    *("ledger_harness", "ledger_writing", "ledger_reading", "ledger_model", "jobs"),
    *("engine_harness", "engine_driving", "engine_faults", "engine_control"),
    "workspaces",
)
# Suites live outside the test tree: without this a failing assert shows no values.
pytest.register_assert_rewrite(*(f"lucius.testing.{name}" for name in _SUITES))
