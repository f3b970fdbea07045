"""Workflows for the command line's tests: one recovers, one cannot work, one takes its time."""

from __future__ import annotations

from lucius.lifebook.examples import example_four_steps
from lucius.lifebook.workflows import PoisonError, Registry, Step, StepContext, StepResult, Workflow


async def _at_once(_: float) -> None:
    """The example without its pauses."""


def _thrifty(context: StepContext) -> StepResult:
    return StepResult(artifact=f"example://{context.step}", credits=25)


def _hopeless(_: StepContext) -> None:
    raise PoisonError("the page is blank", code="BLANK_PAGE")


def _lasting(context: StepContext) -> None:
    context.token.wait(60)
    context.token.raise_if_stopped()


registry = Registry(
    [
        example_four_steps(_at_once),
        Workflow(
            "hopeless", (Step("read", _thrifty, credits=100), Step("understand", _hopeless, credits=200))
        ),
        Workflow("lasting", (Step("begin", _thrifty, credits=25), Step("last", _lasting, credits=75))),
        Workflow("costly", (Step("buy", _thrifty, credits=10_000_000),)),
    ]
)
