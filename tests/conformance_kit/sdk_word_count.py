"""The same service, written with the SDK: what `--module` starts."""

from __future__ import annotations

import asyncio

import pydantic

from lucius.sdk import Artifact, Step, service


class Wanted(pydantic.BaseModel):
    """The payload."""

    pause_seconds: float = pydantic.Field(default=0, ge=0, le=60)


@service("WORD_COUNT", concurrency=4)
async def count(step: Step[Wanted]) -> Artifact:
    """Count the words of a text, after a pause."""
    text = await step.document.text()
    for _ in range(int(step.payload.pause_seconds * 20)):
        await asyncio.sleep(0.05)
        step.progress(0.5)
    return await step.workspace.write_json("count.json", {"words": len(text.split())})
