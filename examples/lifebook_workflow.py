"""A workflow of your own: counts the words of a text in three steps.

    PYTHONPATH=examples LUCIUS_LIFEBOOK_WORKFLOWS=lifebook_workflow:registry lucius up
    lucius lifebook run count-words --input text="to be or not to be"

Results lie in the folder WORD_COUNTS (word-counts, where Lucius was started). Every step can be run again:
what it writes, it writes whole and under a name that follows from the run.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

from lucius.lifebook.workflows import (
    PoisonError,
    Registry,
    Step,
    StepContext,
    StepError,
    StepResult,
    Workflow,
)

FOLDER = Path(os.environ.get("WORD_COUNTS", "word-counts")).absolute()


async def keep(context: StepContext) -> str:
    """Put the text where the next step finds it; the answer is a reference, not the text."""
    text = context.input.get("text")
    if not isinstance(text, str):  # no other try can help: the run is dead at once
        raise PoisonError("the input has no text", code="TEXT_MISSING")
    return _written(f"{context.job_id}.txt", text)


def count(context: StepContext) -> StepResult:
    """A plain function runs in a thread; it asks now and then whether it should stop."""
    found: Counter[str] = Counter()
    text = (FOLDER / f"{context.job_id}.txt").read_text("utf-8")
    for number, word in enumerate(text.split()):
        if number % 1000 == 0:
            context.token.raise_if_stopped()
        found[word] += 1
    if not found:  # the attempt failed; there is another one while there are attempts
        raise StepError("the text has no words", code="NO_WORDS")
    reference = _written(f"{context.job_id}.json", json.dumps(dict(found), sort_keys=True))
    # One hundredth of a credit a word; what was reserved and is not spent is free again at the end.
    return StepResult(artifact=reference, credits=found.total())


async def publish(context: StepContext) -> None:
    """After a crash this runs again, with the same key: whoever gets it can tell that it is the same."""
    _written(f"published-{context.step_key.replace('/', '-')}", context.artifacts["count"])


def _written(name: str, text: str) -> str:
    """A whole file or none, also when the process dies; the reference to it."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    part = FOLDER / f"{name}.part"
    part.write_text(text, "utf-8")
    return part.rename(FOLDER / name).as_uri()


registry = Registry(
    [
        Workflow(
            "count-words",
            (
                Step("keep", keep, credits=10),
                Step("count", count, credits=100, timeout_seconds=60),
                Step("publish", publish, usual_seconds=5),
            ),
            max_attempts=3,
        )
    ]
)
