"""What a benchmark says: figures with their baselines and aims, and the run they were taken in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Literal

import msgspec

ROUNDS = 3


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """A bound to reach."""

    bound: float
    kind: Literal["at least", "at most"]

    def met(self, value: float) -> bool:
        """Whether the value keeps it."""
        return value >= self.bound if self.kind == "at least" else value <= self.bound

    def __str__(self) -> str:
        return f"{'≥' if self.kind == 'at least' else '≤'} {self.bound:g}"


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table. `ratio` is value over baseline; the aim is held against `judged`."""

    part: str
    name: str
    value: float
    unit: str
    samples: list[float] = []
    baseline: str = ""
    baseline_value: float | None = None
    ratio: float | None = None
    aim: Aim | None = None
    judged: Literal["value", "ratio"] = "value"

    @property
    def met(self) -> bool | None:
        """Whether the aim is reached; None where there is none."""
        found = self.ratio if self.judged == "ratio" else self.value
        return None if self.aim is None or found is None else self.aim.met(found)


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """What a part needs to know."""

    home: Path
    connections: int
    full: bool
    stored: int
    tell: Callable[[str], None]


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one run found."""

    taken_at: str
    version: str
    machine: str
    load_before: list[float]
    load_after: list[float]
    seconds: float
    figures: list[Figure]


def plain(part: str, name: str, unit: str, samples: list[float], aim: Aim | None = None) -> Figure:
    """A figure that stands by itself."""
    return Figure(part=part, name=name, value=median(samples), unit=unit, samples=samples, aim=aim)


def compared(
    part: str,
    name: str,
    unit: str,
    samples: list[float],
    *,
    baseline: str,
    against: list[float],
    aim: Aim | None = None,
) -> Figure:
    """A figure beside its baseline."""
    value, base = median(samples), median(against)
    return Figure(
        part=part, name=name, value=value, unit=unit, samples=samples, baseline=baseline, baseline_value=base,
        ratio=value / base, aim=aim, judged="ratio",
    )  # fmt: skip


def at_least(bound: float) -> Aim:
    """As much as this, or more."""
    return Aim(bound=bound, kind="at least")


def at_most(bound: float) -> Aim:
    """No more than this."""
    return Aim(bound=bound, kind="at most")
