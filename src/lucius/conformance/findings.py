"""What a case comes to: passed, failed, or not judged, with a sentence for people."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from lucius.conformance.bench import Bench

Check = Callable[["Bench"], Awaitable[str]]
Mark = Literal["passed", "failed", "not judged"]


class Failed(Exception):  # noqa: N818 - what happened, not what it is
    """The service broke a rule; the message says which, with what was seen."""


class NotJudged(Exception):  # noqa: N818 - as above
    """The case could not be tried; the message says what to give the kit."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One rule."""

    name: str
    title: str
    why: str
    check: Check


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one case."""

    case: str
    title: str
    why: str
    verdict: Mark
    seconds: float
    remark: str = ""
    log: str = ""
    """The end of what the service printed, where it failed."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run."""

    step_type: str
    findings: tuple[Finding, ...]

    def count(self, verdict: Mark) -> int:
        """How many cases came to this."""
        return sum(1 for one in self.findings if one.verdict == verdict)

    def ok(self, *, allow_unjudged: bool = False) -> bool:
        """Whether the service conforms, as far as it was judged."""
        return self.count("failed") == 0 and (allow_unjudged or self.count("not judged") == 0)

    def of(self, case: str) -> Finding:
        """The finding of one case."""
        return next(one for one in self.findings if one.case == case)


class Rules:
    """A room of cases, filled by decorating their checks."""

    def __init__(self) -> None:
        self.cases: list[Case] = []

    def rule(self, name: str, title: str, why: str) -> Callable[[Check], Check]:
        """Make a case of a check, which returns a remark or raises."""

        def enter(check: Check) -> Check:
            self.cases.append(Case(name=name, title=title, why=why, check=check))
            return check

        return enter
