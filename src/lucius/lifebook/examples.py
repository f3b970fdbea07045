"""The workflow that comes with Lucius: four steps, one of which fails on the first try.

It shows a run from end to end on a machine without any service: every step makes a small artifact, the
third one fails once, so that a failure, a backoff and a resume at the cursor can be seen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from lucius.lifebook.workflows import Registry, Step, StepContext, StepError, Workflow

WORKFLOW_ID = "example-four-steps"
Pause = Callable[[float], Awaitable[None]]


def example_four_steps(pause: Pause | None = None) -> Workflow:
    """`collect`, `extract`, `enrich` (fails on the first try), `publish`; 4.50 credits in all."""
    rest = pause or _rest
    seconds = 0.4

    async def collect(context: StepContext) -> str:
        await rest(seconds)
        return _made(context, f"{len(context.input)} inputs")

    async def extract(context: StepContext) -> str:
        await rest(seconds)
        return _made(context, "text")

    async def enrich(context: StepContext) -> str:
        await rest(seconds)
        if context.attempt == 1:
            raise StepError("the example fails here once, on purpose", code="EXAMPLE_FAILURE")
        return _made(context, "entities")

    async def publish(context: StepContext) -> str:
        await rest(seconds)
        return _made(context, f"{len(context.artifacts)} parts")

    return Workflow(
        WORKFLOW_ID,
        (
            Step("collect", collect, credits=50),
            Step("extract", extract, credits=150),
            Step("enrich", enrich, credits=200),
            Step("publish", publish, credits=50),
        ),
    )


def _made(context: StepContext, what: str) -> str:
    return f"example://{context.workspace_id}/{context.job_id}/{context.step}?made={what.replace(' ', '-')}"


async def _rest(seconds: float) -> None:
    """Wait, without a clock of our own."""
    try:
        async with asyncio.timeout(seconds):
            await asyncio.Event().wait()
    except TimeoutError:
        return


registry = Registry([example_four_steps()])
