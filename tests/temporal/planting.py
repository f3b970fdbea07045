"""Changes to the workflow: such that leave running workflows stuck, and such that do not."""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from lucius.engines.temporal import workflow as current

CHANGES = {
    "an added sleep": (
        "        question = self._pilot.ask(",
        "        await workflow.sleep(1)\n        question = self._pilot.ask(",
    ),
    "another call": ('            "advance", question,', '            "go_on", question,'),
    "a timer less": ("            self._set_timer()\n", ""),
    "another time": ("workflow.sleep(wait / 1000)", "workflow.wait_condition(lambda: False)"),
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


@contextlib.contextmanager
def planted(change: str, directory: Path) -> Iterator[type]:
    """The workflow with that change in it, as a module of its own."""
    assert current.__file__ is not None
    source = Path(current.__file__).read_text(encoding="utf-8")
    before, after = {**CHANGES, **HARMLESS}[change]
    assert source.count(before) == 1, f"the workflow does not say {before!r} any more"
    name = f"planted_{re.sub(r'[^a-z]', '_', change)}"
    (directory / f"{name}.py").write_text(source.replace(before, after), encoding="utf-8")
    sys.path.insert(0, str(directory))
    try:
        yield import_module(name).JobWorkflow
    finally:
        sys.path.remove(str(directory))
        sys.modules.pop(name, None)
