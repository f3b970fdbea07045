from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner
from temporalio.workflow import NondeterminismError

from lucius.core.job import standing
from lucius.engines.temporal import messages as msg
from lucius.engines.temporal.converter import DATA_CONVERTER
from lucius.engines.temporal.worker import SANDBOX
from lucius.engines.temporal.workflow import JobWorkflow
from lucius.ports.invoker import Advanced
from lucius.testing.jobs import Story
from tests.temporal.planting import CHANGES, HARMLESS, OUTSIDE, planted
from tests.temporal.record import HISTORIES, scrubbed
from tests.temporal.scenarios import FRESH, SCENARIOS

STORED = sorted(HISTORIES.glob("*.json"))
MACHINE = re.compile(r"\d+@\w|/(?:home|root)/|\.py\b|localhost|127\.0\.0\.1|File \"|site-packages")
NOTICED = re.compile(r"[Nn]ondeterminism|RestrictedWorkflowAccessError")


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
def changed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[type]:
    """The workflow with a change in it."""
    with planted(request.param, tmp_path) as made:
        yield made


@pytest.mark.parametrize("changed", CHANGES, indirect=True, ids=lambda name: name.replace(" ", "-"))
async def test_replay_notices_a_change(changed: type) -> None:
    """Code that would leave running workflows stuck does not get past these histories."""
    replayer = _replayer(changed, OUTSIDE)
    result = await replayer.replay_workflow(_history("ack-timeout"), raise_on_replay_failure=False)
    assert NOTICED.search(str(result.replay_failure))


@pytest.mark.parametrize("changed", HARMLESS, indirect=True, ids=lambda name: name.replace(" ", "-"))
async def test_replay_passes_over_what_is_harmless(changed: type) -> None:
    """What is not a command of the workflow may change without further ado."""
    await _replayer(changed, OUTSIDE).replay_workflow(_history("ack-timeout"))


@pytest.mark.parametrize("kind", [msg.Start, msg.StepAck, msg.StepResultTold, msg.JobControl, Advanced])
def test_what_a_later_release_adds_is_passed_over(kind: type[msgspec.Struct]) -> None:
    """Fields that this release does not know do not hold up what it has to read."""
    story = Story().published()
    told = msg.Told(version=3, state=story.job.state, at=story.now)
    named = {"jobId": story.order.job_id, **story.reply(), "stepId": "ocr", "status": "DONE", "verb": "pause"}
    given = {**named, "order": story.order, "standing": standing(story.job), "told": told, "now": 7}
    document = msgspec.to_builtins({name: given[name] for name in kind.__struct_fields__ if name in given})
    for part in (document, *(value for value in document.values() if isinstance(value, dict))):
        part["of_a_later_release"] = {"any": "thing"}
    payload = Payload(metadata={"encoding": b"json/plain"}, data=msgspec.json.encode(document))
    assert isinstance(DATA_CONVERTER.payload_converter.from_payload(payload, kind), kind)


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
