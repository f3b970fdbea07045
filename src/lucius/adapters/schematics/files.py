"""Schematics from a directory, layered over the shipped protocols, reloaded when it changes.

State model: one good catalogue, the signature of what was last looked at, and the problems found
there. A look happens on a thread; its outcome is taken over in one assignment on the event loop.
How it fails: at start a bad directory refuses with the whole list; later a bad or missing one
changes nothing but `problems`, until it is good again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from importlib.resources import files as package_files
from pathlib import Path

import msgspec

from lucius.adapters.schematics.assemble import SHIPPED, assemble, version_of
from lucius.adapters.schematics.recipes import DEFAULTS
from lucius.adapters.schematics.source import PROTOCOLS, Gathered, Signature, gather, signature
from lucius.core.protocol import StepRecipe
from lucius.errors import Invalid, Problem
from lucius.ports.schematics import Catalogue, ConfigProblem, Outcome, ReloadReport


class _Look(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at the directory found. No catalogue: it is the one we have, or a bad one."""

    seen: Signature | None
    catalogue: Catalogue | None = None
    problems: tuple[ConfigProblem, ...] = ()


class FileSchematics:
    """Protocols, tenants and general settings from files. `None` as directory: the shipped ones only."""

    def __init__(
        self, directory: Path | None, *, clock: Callable[[], int], defaults: StepRecipe = DEFAULTS
    ) -> None:
        """Read everything once, or raise `Invalid` (`CONFIG_INVALID`) with all that is wrong.

        `defaults`: the times and budgets of steps whose file says nothing of them.
        """
        self._directory = directory
        self._clock = clock
        self._defaults = defaults
        self._looking = asyncio.Lock()
        look = _look(directory, None, clock(), defaults)
        if look.catalogue is None:
            raise refusal(look.problems)
        self._catalogue = look.catalogue
        self._seen = look.seen
        self._problems: tuple[ConfigProblem, ...] = ()

    def current(self) -> Catalogue:
        """The last good catalogue."""
        return self._catalogue

    async def refresh(self) -> ReloadReport:
        """Read the files now, whatever their times say."""
        async with self._looking:
            now = self._clock()
            version = self._catalogue.version
            look = await asyncio.to_thread(_look, self._directory, version, now, self._defaults)
            return self._settle(look, now)

    async def poll(self) -> ReloadReport:
        """Read the files only if one of them looks different: cheap enough to do every few seconds."""
        seen = await asyncio.to_thread(_seen, self._directory)
        if seen is not None and seen == self._seen:
            return self._report(Outcome.UNCHANGED, self._clock())
        return await self.refresh()

    def _settle(self, look: _Look, now: int) -> ReloadReport:
        self._seen = look.seen
        if look.problems:
            told = look.problems == self._problems
            self._problems = look.problems
            return self._report(Outcome.UNCHANGED if told else Outcome.KEPT, now)
        self._problems = ()
        if look.catalogue is None:
            return self._report(Outcome.UNCHANGED, now)
        self._catalogue = look.catalogue
        return self._report(Outcome.RELOADED, now)

    def _report(self, outcome: Outcome, now: int) -> ReloadReport:
        return ReloadReport(
            outcome=outcome, version=self._catalogue.version, checked_at=now, problems=self._problems
        )


def check(directory: Path) -> list[ConfigProblem]:
    """Everything that is wrong with a directory; an empty list means that Lucius would take it."""
    return list(_look(directory, None, 0).problems)


def refusal(problems: tuple[ConfigProblem, ...]) -> Invalid:
    """The error a start with this configuration ends in: every problem, one a line."""
    count = f"{len(problems)} problem{'s' if len(problems) != 1 else ''}"
    lines = "\n".join(f"  {problem}" for problem in problems)
    return Invalid(
        f"The configuration has {count}; nothing was started:\n{lines}",
        code="CONFIG_INVALID",
        problems=tuple(
            Problem(pointer=one.pointer, code="CONFIG_INVALID", message=str(one)) for one in problems
        ),
    )


def _seen(directory: Path | None) -> Signature | None:
    """The directory's signature; None when it is out of reach."""
    if directory is None:
        return ()
    try:
        return signature(directory)
    except OSError:
        return None


def _look(directory: Path | None, version: str | None, now: int, defaults: StepRecipe = DEFAULTS) -> _Look:
    # The signature is taken first: an edit that lands while we read makes the next one differ.
    seen = _seen(directory)
    own = gather(directory) if directory is not None else Gathered(files={})
    everything = _shipped() | own.files
    if not own.problems and version_of(everything) == version:
        return _Look(seen=seen)
    catalogue, wrong = assemble(everything, now, defaults)
    problems = (*own.problems, *wrong)
    return _Look(seen=seen, catalogue=None if problems else catalogue, problems=problems)


def _shipped() -> dict[str, bytes]:
    folder = package_files("lucius") / PROTOCOLS
    return {
        f"{SHIPPED}{PROTOCOLS}/{entry.name}": entry.read_bytes()
        for entry in folder.iterdir()
        if entry.name.endswith(".yaml")
    }
