from __future__ import annotations

import sys

import pytest

from lucius.conformance.cases import CASES
from lucius.conformance.findings import Report
from lucius.conformance.options import merged, read_file
from tests.conformance_kit.kits import EXAMPLES, NODE, SLOW, Trial, faults, judged

SDK = ("-m", "lucius.entrypoints.cli", "service", "tests.conformance_kit.sdk_word_count:count")
NODE_OPTIONS = EXAMPLES / "node-service" / "conformance.yaml"
PYTHON_OPTIONS = EXAMPLES / "conformance.yaml"


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Report]:
    """Every right service, tried by the whole kit."""
    home = tmp_path_factory.mktemp("right")
    trials = [
        Trial(name="standard library", options=SLOW),
        Trial(
            name="example in Node.js",
            command=(str(NODE), str(EXAMPLES / "node-service" / "service.js")),
            options=merged({}, read_file(NODE_OPTIONS)),
        ),
        Trial(
            name="example in Python",
            command=(sys.executable, str(EXAMPLES / "service.py")),
            options=merged({}, read_file(PYTHON_OPTIONS)),
        ),
        Trial(
            name="SDK",
            command=(sys.executable, *SDK),
            environment={"LUCIUS_SERVICE_STORE": str(home / "attempts.db")},
            options=merged({}, read_file(PYTHON_OPTIONS)),
        ),
    ]
    return judged(trials, home, at_once=4)


@pytest.mark.parametrize("name", ["standard library", "example in Node.js", "example in Python", "SDK"])
def test_a_right_service_passes_everything(reports: dict[str, Report], name: str) -> None:
    """A service that keeps the contract is found to keep it, whatever it is written in."""
    assert faults(reports[name]) == {}
    assert [one.case for one in reports[name].findings] == [case.name for case in CASES]
    assert reports[name].step_type == "WORD_COUNT"
