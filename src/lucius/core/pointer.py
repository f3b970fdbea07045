"""JSON Pointers (RFC 6901) and the list of problems that uses them.

A refusal must stay small whatever was sent: it lists a bounded number of problems, and a pointer
that would be long (keys are the sender's choice) is cut back to the nearest ancestor that is not.
"""

from __future__ import annotations

from lucius.errors import Problem

MAX_PROBLEMS = 32
MAX_POINTER = 512


def child(parent: str, name: str | int) -> str:
    """The pointer of the member or element `name` of what `parent` points at."""
    return f"{parent}/{str(name).replace('~', '~0').replace('/', '~1')}"


def shortened(pointer: str) -> str:
    """The pointer itself, or its nearest ancestor of an acceptable length."""
    return pointer if len(pointer) <= MAX_POINTER else pointer[: pointer.rfind("/", 0, MAX_POINTER + 1)]


class Findings:
    """Problems found so far, in the order found; a bounded number of them."""

    def __init__(self) -> None:
        self._problems: list[Problem] = []

    def __bool__(self) -> bool:
        return bool(self._problems)

    @property
    def full(self) -> bool:
        """True when further problems would not be kept."""
        return len(self._problems) >= MAX_PROBLEMS

    def note(self, pointer: str, code: str, message: str) -> None:
        """Add a problem, unless the list is full."""
        if not self.full:
            self._problems.append(Problem(pointer=shortened(pointer), code=code, message=message))

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What was found."""
        return tuple(self._problems)

    @property
    def codes(self) -> frozenset[str]:
        """Which kinds of problem were found."""
        return frozenset(problem.code for problem in self._problems)
