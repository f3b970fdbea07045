"""The services that are measured, as a team would write them: one does nothing, one writes a small file."""

from __future__ import annotations

from typing import Any

from lucius.sdk.serving.outcomes import Artifact
from lucius.sdk.serving.service import service
from lucius.sdk.serving.step import Step

CONCURRENCY = 64
TEXT = b"x" * 1024


@service("SDK_NOTHING", concurrency=CONCURRENCY)
async def nothing(step: Step[dict[str, Any]]) -> None:
    """No work at all: what is left is the price of the SDK."""


@service("SDK_FILE", concurrency=CONCURRENCY)
async def file(step: Step[dict[str, Any]]) -> Artifact:
    """One kilobyte, forced to disk by the workspace."""
    return await step.workspace.write("out.txt", TEXT)
