"""Public conformance suites: bind an adapter to one in about twenty lines.

`buses.BusSuite` tells whether a bus keeps the promises of `lucius.ports.bus`; `bus_machine.BusMachine`
drives it against a small model. Suites branch on declared capabilities, never on types. They need
pytest and hypothesis.
"""

import pytest

# Suites live outside the test tree: without this a failing assert shows no values.
pytest.register_assert_rewrite(
    *(f"lucius.testing.{name}" for name in ("bus_harness", "bus_delivery", "bus_sharing", "bus_machine"))
)
