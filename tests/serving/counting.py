"""A service for tests that start real processes: it counts words, slowly if told to."""

from __future__ import annotations

import asyncio

import pydantic

from lucius.sdk import Artifact, Step, run, service


class Wanted(pydantic.BaseModel):
    """How long it takes."""

    seconds: float = pydantic.Field(default=0, ge=0)


@service("WORD_COUNT", concurrency=4)
async def count(step: Step[Wanted]) -> Artifact:
    """Count the words of the document."""
    words = len((await step.document.text()).split())
    for tenth in range(10):
        step.progress(tenth / 10, f"{tenth} of 10")
        await asyncio.sleep(step.payload.seconds / 10)
    return await step.workspace.write_json("count.json", {"words": words})


if __name__ == "__main__":
    raise SystemExit(run(count))
