"""Who watches runs: told what was written and what is under way, never asked for anything.

A watch must not raise and must not wait: it is told in the middle of the work. What it learns of a run it may
count and trace; inputs, artifacts and messages of errors are none of its business.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from lucius.lifebook.core.run import Run

Told = Callable[[Run], None]
"""Called once with the run as it is at the end."""
StepEnded = Callable[[str, str | None], None]
"""Called once with `done`, `failed` or `stopped`, and the code of the failure."""


class Watch(Protocol):
    """What runs are told to."""

    def creating(self, run: Run) -> AbstractContextManager[Callable[[Run, bool], None]]:
        """Round the write of a new record; told the run that holds the key, and whether it is new."""
        ...

    def changed(self, before: Run, after: Run) -> None:
        """A change was written."""
        ...

    def refused(self, kind: str, code: str) -> None:
        """A command of this kind had no effect."""
        ...

    def waited(self, seconds: float) -> None:
        """A message was lent for the first time, so long after it was sent."""
        ...

    def missed(self) -> None:
        """A heartbeat could not be written."""
        ...

    def attempt(self, run: Run) -> AbstractContextManager[Told]:
        """Round all that a worker does for a run it holds."""
        ...

    def step(self, run: Run, step: str) -> AbstractContextManager[StepEnded]:
        """Round the work of one step."""
        ...


class Unwatched:
    """Nobody looks."""

    def creating(self, run: Run) -> AbstractContextManager[Callable[[Run, bool], None]]:  # noqa: ARG002 - the port's signature
        """Nothing."""
        return nullcontext(lambda _run, _fresh: None)

    def changed(self, before: Run, after: Run) -> None:
        """Nothing."""

    def refused(self, kind: str, code: str) -> None:
        """Nothing."""

    def waited(self, seconds: float) -> None:
        """Nothing."""

    def missed(self) -> None:
        """Nothing."""

    def attempt(self, run: Run) -> AbstractContextManager[Told]:  # noqa: ARG002 - the port's signature
        """Nothing."""
        return nullcontext(lambda _run: None)

    def step(self, run: Run, step: str) -> AbstractContextManager[StepEnded]:  # noqa: ARG002 - the port's signature
        """Nothing."""
        return nullcontext(lambda _outcome, _code: None)


UNWATCHED = Unwatched()
