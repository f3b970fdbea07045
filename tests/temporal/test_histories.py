from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions
from temporalio.workflow import NondeterminismError

from lucius.engines.temporal import workflow as current
from lucius.engines.temporal.converter import DATA_CONVERTER
from lucius.engines.temporal.worker import SANDBOX
from lucius.engines.temporal.workflow import JobWorkflow
from tests.temporal.record import HISTORIES, scrubbed
from tests.temporal.scenarios import FRESH, SCENARIOS

STORED = sorted(HISTORIES.glob("*.json"))
MACHINE = re.compile(r"\d+@\w|/home/|/root/|\.py\b|localhost|127\.0\.0\.1|File \"|site-packages")
NOTICED = re.compile(r"[Nn]ondeterminism|RestrictedWorkflowAccessError")
CHANGES = {
    "an added sleep": (
        "        question = self._pilot.ask(",
        "        await workflow.sleep(1)\n        question = self._pilot.ask(",
    ),
    "another call": ('            "advance", question,', '            "go_on", question,'),
    "a timer less": ("            self._set_timer()\n", ""),
    "another time": ("workflow.sleep(max(wait, 1) / 1000)", "workflow.wait_condition(lambda: False)"),
    "chance of its own": ("workflow.uuid4().hex", "__import__('uuid').uuid4().hex"),
    "a clock of its own": ("return workflow.time_ns() //", "return __import__('time').time_ns() //"),
}
"""What one might do to the workflow without thinking of those that run: by what to replace what."""
OUTSIDE = SandboxedWorkflowRunner(
    restrictions=SandboxRestrictions.default.with_passthrough_modules("lucius", "msgspec")
)
"""For a workflow that does not live in the package."""
HARMLESS = {
    "other words": ('return "is something due?"', 'return "looks"'),
    "other patience": (
        "initial_interval=timedelta(milliseconds=200)",
        "initial_interval=timedelta(seconds=1)",
    ),
    "more to query": ("    @workflow.query\n    def busy", "    @workflow.query(name='more')\n    def busy"),
}
"""What may be changed at any time."""


def _replayer(workflow: type, runner: SandboxedWorkflowRunner = SANDBOX) -> Replayer:
    """As the worker would run it."""
    return Replayer(workflows=[workflow], workflow_runner=runner, data_converter=DATA_CONVERTER)


def _history(name: str) -> WorkflowHistory:
    return WorkflowHistory.from_json(name, (HISTORIES / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [path.stem for path in STORED])
async def test_workflows_of_before_go_on(name: str) -> None:
    """What ran with earlier code gives the same commands with this code: it can be taken over."""
    await _replayer(JobWorkflow).replay_workflow(_history(name))


def test_every_kind_of_run_is_kept() -> None:
    """There is a history of each scenario, and of each run of one that went on in fresh runs."""
    kept = {path.stem for path in STORED}
    assert set(SCENARIOS) | {f"{FRESH}-1", f"{FRESH}-2"} <= kept
    events = [_kinds(_history(f"{FRESH}-1")), _kinds(_history("native-cancel")), _kinds(_history("retry"))]
    last = [kinds[-1] for kinds in events]
    assert last == [
        "workflow_execution_continued_as_new_event_attributes",
        "workflow_execution_canceled_event_attributes",
        "workflow_execution_failed_event_attributes",
    ]


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_history_says_nothing_of_the_machine(path: Path) -> None:
    """Neither hosts nor processes nor files, nor inside of payloads; and it is as short as it can be."""
    text = path.read_text(encoding="utf-8")
    document = json.loads(text)
    assert MACHINE.findall(" ".join([text, *_payloads(document)])) == []
    assert scrubbed(document) == document
    assert text == json.dumps(document, separators=(",", ":")) + "\n"
    assert len(text) < 40_000


@pytest.fixture
def planted(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[type]:
    """The workflow with a change in it, as a module of its own."""
    assert current.__file__ is not None
    source = Path(current.__file__).read_text(encoding="utf-8")
    before, after = {**CHANGES, **HARMLESS}[request.param]
    assert source.count(before) == 1, f"the workflow does not say {before!r} any more"
    name = f"planted_{re.sub(r'[^a-z]', '_', request.param)}"
    (tmp_path / f"{name}.py").write_text(source.replace(before, after), encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield import_module(name).JobWorkflow
    del sys.modules[name]


@pytest.mark.parametrize("planted", CHANGES, indirect=True, ids=lambda name: name.replace(" ", "-"))
async def test_replay_notices_a_change(planted: type) -> None:
    """Code that would leave running workflows stuck does not get past these histories."""
    replayer = _replayer(planted, OUTSIDE)
    result = await replayer.replay_workflow(_history("ack-timeout"), raise_on_replay_failure=False)
    assert NOTICED.search(str(result.replay_failure))


@pytest.mark.parametrize("planted", HARMLESS, indirect=True, ids=lambda name: name.replace(" ", "-"))
async def test_replay_passes_over_what_is_harmless(planted: type) -> None:
    """What is not a command of the workflow may change without further ado."""
    await _replayer(planted, OUTSIDE).replay_workflow(_history("ack-timeout"))


async def test_replay_notices_a_changed_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of the core run inside workflows: one that waits no more is noticed like any other change."""
    monkeypatch.setattr("lucius.engines.temporal.pilot.due_at", lambda _: None)
    result = await _replayer(JobWorkflow).replay_workflow(
        _history("ack-timeout"), raise_on_replay_failure=False
    )
    assert isinstance(result.replay_failure, NondeterminismError)


def _kinds(history: WorkflowHistory) -> list[str | None]:
    return [event.WhichOneof("attributes") for event in history.events]


def _payloads(found: Any) -> Iterator[str]:
    """What payloads hold, readable."""
    if isinstance(found, dict):
        if isinstance(found.get("data"), str):
            yield base64.b64decode(found["data"]).decode("utf-8", "replace")
        for value in found.values():
            yield from _payloads(value)
    elif isinstance(found, list):
        for value in found:
            yield from _payloads(value)
