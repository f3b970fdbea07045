"""Patterns that others wrote, run where they can do no harm: in a child process, against a clock.

A regular expression can be made to take longer than anybody lives. So patterns are compiled and run by
`search` in a process of the SDK's pool; a timer of processor time stops the engine in the middle of a match,
and whoever calls it ends the process if even that fails. The expressions are Python's, ignoring case,
`^` and `$` at every line. This module imports next to nothing: the child starts quickly.
"""

from __future__ import annotations

import contextlib
import re
import signal
from collections.abc import Iterator, Sequence
from typing import Any, Final

MAX_HITS: Final = 200
"""For one set of patterns; nobody reads more."""

Job = tuple[Sequence[str], Sequence[int]]
"""Patterns, and which of the texts to look for them in."""
Hit = tuple[int, int, int]
"""Which of the job's texts, and where: the group `value`, else the first that took part, else all of it."""
Outcome = tuple[str, int, str, list[list[Hit]]]
"""`ok`, `invalid` or `slow`; at which job; what is wrong; the hits of each job."""


class _OutOfTime(Exception):  # noqa: N818 - a signal, caught below
    """The timer went off."""


def search(texts: Sequence[str], jobs: Sequence[Job], seconds: float) -> Outcome:
    """Look for all patterns of all jobs in at most so many seconds of processor time."""
    found: list[list[Hit]] = []
    try:
        with _timer(seconds):
            for patterns, numbers in jobs:
                found.append(_hits(patterns, [texts[number] for number in numbers]))
    except _OutOfTime:
        return "slow", len(found), f"it took more than {seconds:g} s", []
    except (re.error, RecursionError, OverflowError, MemoryError) as error:
        return "invalid", len(found), str(error)[:200] or type(error).__name__, []
    return "ok", len(found), "", found


def _hits(patterns: Sequence[str], texts: Sequence[str]) -> list[Hit]:
    hits: list[Hit] = []
    for pattern in patterns:
        ready = re.compile(pattern, re.IGNORECASE | re.MULTILINE)
        for number, text in enumerate(texts):
            for match in ready.finditer(text):
                start, end = match.span(_group(match))
                if end > start:
                    hits.append((number, start, end))
                if len(hits) == MAX_HITS:
                    return hits
    return hits


def _group(match: re.Match[str]) -> int:
    named = match.re.groupindex.get("value", 0)
    if match.start(named) >= 0 and named:
        return named
    return next((number for number in range(1, match.re.groups + 1) if match.start(number) >= 0), 0)


@contextlib.contextmanager
def _timer(seconds: float) -> Iterator[None]:
    """Raise `_OutOfTime` in this, the main thread; nothing where the system has no such timer."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(_number: int, _frame: Any) -> None:
        raise _OutOfTime

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
