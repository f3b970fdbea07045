"""Conformance suites of lifebook runs: bind a store, a queue or a store of triggers in about twenty lines.

`run_stores.RunStoreSuite`, `run_queues.RunQueueSuite` and `trigger_stores.TriggerStoreSuite` tell whether an
adapter keeps the promises of its port; `runs` builds records. Suites branch on declared capabilities, never
on types. They need pytest.
"""

import pytest

_SUITES = (
    *("runs", "store_harness", "store_writing", "store_money", "store_reading"),
    *("queue_harness", "queue_lending", "queue_settling", "trigger_stores"),
)
# Suites live outside the test tree: without this a failing assert shows no values.
pytest.register_assert_rewrite(*(f"lucius.testing.lifebook.{name}" for name in _SUITES))
