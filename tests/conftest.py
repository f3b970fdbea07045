"""Shared by every test: the Hypothesis profiles, and the real parts that some tests need.

`ci` is the default: bounded and derandomised, so that a commit passes or fails for a reason that is
in the commit. `proof` searches anew each time, for longer; a failure prints the blob that repeats it.
LUCIUS_EXAMPLES scales either.

`azurite`, `s3` and `temporal` start when the first test asks for them and serve the whole run: tests keep
apart by tables, containers, buckets and task queues of their own. Test processes side by side (`make test`)
have one each.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from lucius.testing import parts
from lucius.testing.temporal import TemporalServer, temporal_server

# How wide the terminal is that runs the tests is not for what they start to know.
for _size in ("COLUMNS", "LINES"):
    os.environ.pop(_size, None)

LONGEST_FIRST = (
    "planted/test_planted.py",
    "simulation/test_simulation.py",
    "api/test_schemathesis.py",
    "acceptance/test_lifebook_aws.py",
    "acceptance/test_temporal_kill.py",
    "acceptance/test_temporal_outages.py",
    "runtime/test_temporal_processes.py",
    "runtime/test_moving_engines.py",
    "runtime/test_temporal_up.py",
    "simulation/test_temporal_simulation.py",
    "engines/test_dual_run.py",
    "engines/test_temporal_engine.py",
    "cli/test_cli_jobs.py",
    "scaffold/test_tutorial.py",
    "acceptance/test_lifebook_chaos.py",
    "acceptance/test_reference_services.py",
    "cli/test_cli_alone.py",
    "acceptance/test_kill.py",
    "conformance_kit/test_right_services.py",
    "serving/test_service_process.py",
    "docs/test_runnable.py",
)
"""Of files that are dealt out to test processes, these go first: none is left with a long one at the end."""

_CI_EXAMPLES = 60
_PROOF_EXAMPLES = 2_000


def _examples(default: int) -> int:
    """How many examples a property gets, unless its own settings say otherwise."""
    return int(os.environ.get("LUCIUS_EXAMPLES", default))


# No deadline in either: a slow machine is not a bug. Databases and processes are slow to draw from.
settings.register_profile(
    "ci",
    max_examples=_examples(_CI_EXAMPLES),
    stateful_step_count=30,
    derandomize=True,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "proof",
    max_examples=_examples(_PROOF_EXAMPLES),
    stateful_step_count=100,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Side by side, the longest files begin."""
    if hasattr(config, "workerinput"):
        here = Path(__file__).parent
        places = {here / name: place for place, name in enumerate(LONGEST_FIRST)}
        assert all(path.is_file() for path in places), "LONGEST_FIRST names a file that is not there"
        items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.fixture(scope="session")
def azurite() -> Iterator[parts.Azurite]:
    """Azure Blob, Queue and Table on the loopback."""
    with parts.azurite() as running:
        yield running


@pytest.fixture(scope="session")
def s3() -> Iterator[parts.S3]:
    """S3 on the loopback."""
    with parts.s3() as running:
        yield running


@pytest.fixture(scope="session")
def temporal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TemporalServer]:
    """A Temporal server on the loopback. Whoever kills one starts a server of its own."""
    with temporal_server(tmp_path_factory.mktemp("temporal")) as running:
        yield running
