"""Jobs that were looked at and are left alone for a while, each time twice as long."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

MOST = 10_000
"""Jobs that one round looks at, however many are at rest."""


class Resting:
    """Remembers only what is still due, and reads past it: what is stuck does not hide what is new."""

    def __init__(self, *, first: int, longest: int) -> None:
        """Milliseconds of the first rest, and of the longest."""
        self._first = first
        self._longest = longest
        self._until: dict[str, tuple[int, int]] = {}

    def page(self, size: int) -> int:
        """How many due jobs to ask for so that `size` of them may be new."""
        return min(size + len(self._until), MOST)

    def keep(self, due: Collection[str]) -> None:
        """Forget what is not due any more."""
        self._until = {job_id: self._until[job_id] for job_id in due if job_id in self._until}

    def ripe(self, job_id: str, now: int) -> bool:
        """Whether to look at this one now; if so, it rests from now on."""
        again, rest = self._until.get(job_id, (now, self._first))
        if now < again:
            return False
        self._until[job_id] = (now + rest, min(rest * 2, self._longest))
        return True

    def unseen(self, job_id: str, now: int) -> None:
        """It could not be looked at after all: that is no reason to wait longer than the first time."""
        self._until[job_id] = (now + self._first, self._first)
