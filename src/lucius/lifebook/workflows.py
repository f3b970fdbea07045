"""Workflows: ordered lists of Python steps, registered under a name.

    steps = Workflow("nightly-summary", [Step("fetch", fetch, credits=100), Step("summarise", summarise)])
    registry = Registry([steps])

A step is a function of one `StepContext`, `async` or plain (then it runs in a thread). It returns None, a
reference to what it made, or a `StepResult`. It may run more than once: after a crash the step in flight
runs again, the ones before do not. Raising `PoisonError` ends the run; any other error ends the attempt.
"""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

import msgspec

from lucius.errors import LuciusError, NotFound
from lucius.lifebook.core.run import MOST_ATTEMPTS, StepPlan

DEFAULT_STEP_SECONDS = 900.0


class StepError(LuciusError):
    """The attempt failed; the run is tried again while it has attempts. The code must name nobody."""

    code = "STEP_FAILED"


class PoisonError(LuciusError):
    """The run can never succeed; it is dead at once."""

    code = "POISON"


class RunStoppedError(LuciusError):
    """The run was canceled, or this worker lost it: stop, whatever is done now does not count."""

    code = "RUN_STOPPED"


class StepResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a step made, and what it cost if that was less than planned."""

    artifact: str | None = None
    """A reference (`s3://…`, `file://…`), not the thing itself."""
    credits: int | None = None
    """Hundredths; None: what was planned."""


class StopToken:
    """Tells a step inside its work that it should stop; safe to ask from any thread."""

    __slots__ = ("_event", "reason")

    def __init__(self) -> None:
        self._event = threading.Event()
        self.reason = ""

    @property
    def stopped(self) -> bool:
        """Whether somebody has asked for it."""
        return self._event.is_set()

    def stop(self, reason: str) -> None:
        """Ask for it; the first reason stays."""
        if not self._event.is_set():
            self.reason = reason
            self._event.set()

    def raise_if_stopped(self) -> None:
        """Raise `RunStoppedError` if it was asked for: what a long loop calls now and then."""
        if self._event.is_set():
            raise RunStoppedError(f"The run was stopped: {self.reason}")

    def wait(self, seconds: float) -> bool:
        """For steps in threads: wait, but not longer than until it is asked for; whether it was."""
        return self._event.wait(seconds)


class StepContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a step is given."""

    job_id: str
    workspace_id: str
    user_id: str
    workflow_id: str
    step: str
    attempt: int
    """1-based, of the run."""
    max_attempts: int
    input: Mapping[str, Any]
    artifacts: Mapping[str, str]
    """What the steps before made, by their names."""
    trace_id: str
    token: StopToken
    step_key: str
    """The same for every try of this step in this run: give it to whatever must not do the work twice."""


StepFunction = Callable[[StepContext], Any] | Callable[[StepContext], Awaitable[Any]]


class Step(msgspec.Struct, frozen=True):
    """A registered step."""

    name: str
    run: StepFunction
    credits: int = 0
    """Hundredths of a credit it costs at most."""
    timeout_seconds: float = DEFAULT_STEP_SECONDS
    """After so long the attempt has failed."""
    usual_seconds: float = 30.0
    """A worker that is about to be ended and has less time than this hands the run on before it begins."""


class Workflow(msgspec.Struct, frozen=True):
    """An ordered list of steps."""

    workflow_id: str
    steps: tuple[Step, ...]
    max_attempts: int = MOST_ATTEMPTS

    def __post_init__(self) -> None:
        """Refuse what could never run."""
        names = [step.name for step in self.steps]
        if not names or len(set(names)) != len(names) or not all(names):
            raise ValueError(f"the workflow {self.workflow_id} needs steps, each with a name of its own")
        prices: list[Any] = [step.credits for step in self.steps]
        whole = all(isinstance(price, int) and price >= 0 for price in prices)
        if not 1 <= self.max_attempts <= MOST_ATTEMPTS or not whole:
            raise ValueError(
                f"the workflow {self.workflow_id}: 1 to {MOST_ATTEMPTS} attempts; "
                "credits are whole hundredths, none negative"
            )

    @property
    def plan(self) -> tuple[StepPlan, ...]:
        """What a run remembers of it."""
        return tuple(StepPlan(name=step.name, credits=step.credits) for step in self.steps)


class Registry:
    """The workflows a process knows."""

    def __init__(self, workflows: Iterable[Workflow] = ()) -> None:
        self._workflows: dict[str, Workflow] = {}
        for workflow in workflows:
            self.register(workflow)

    def register(self, workflow: Workflow) -> None:
        """Add one; a name is taken once."""
        if workflow.workflow_id in self._workflows:
            raise ValueError(f"the workflow {workflow.workflow_id} is registered twice")
        self._workflows[workflow.workflow_id] = workflow

    def find(self, workflow_id: str) -> Workflow | None:
        """The workflow of that name, or None."""
        return self._workflows.get(workflow_id)

    def get(self, workflow_id: str) -> Workflow:
        """The workflow of that name; raises `NotFound` with the names there are."""
        found = self.find(workflow_id)
        if found is None:
            known = ", ".join(sorted(self._workflows)) or "none"
            raise NotFound(
                f"There is no workflow {workflow_id[:64]}; registered are: {known}", code="UNKNOWN_WORKFLOW"
            )
        return found

    def all(self) -> tuple[Workflow, ...]:
        """Every one, by name."""
        return tuple(self._workflows[name] for name in sorted(self._workflows))
