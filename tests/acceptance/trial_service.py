"""A service on the SDK that ends as its payload says: `tests.acceptance.trial_service:trial`."""

from __future__ import annotations

import asyncio
from typing import Literal

from pydantic import BaseModel

from lucius.sdk import Final, Retryable, Step, service


class Wanted(BaseModel):
    """How the work shall go."""

    seconds: float = 0.05
    fail: Literal["retry", "final"] | None = None
    """`retry` fails the first attempt only."""


@service("TRIAL", concurrency=64)
async def trial(step: Step[Wanted]) -> None:
    """Take a moment, and end as wished."""
    await asyncio.sleep(step.payload.seconds)
    if step.payload.fail == "final":
        raise Final("AS_WISHED", "The payload asked for it.")
    if step.payload.fail == "retry" and step.directive.attempt_no == 1:
        raise Retryable("AS_WISHED", "The payload asked for it, once.")
