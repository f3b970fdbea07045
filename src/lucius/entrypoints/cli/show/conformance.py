"""What the conformance kit found: while it looks, and as a table."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lucius.conformance.run import Watch
from lucius.entrypoints.cli.session import printable

if TYPE_CHECKING:
    from lucius.conformance.findings import Case, Finding, Report

_STYLES = {"passed": ("✓", "green"), "failed": ("✗", "red"), "not judged": ("–", "yellow")}


class Progress(Watch):
    """Tells on stderr how far a run is: one line that changes on a terminal, a line a case elsewhere."""

    def __init__(self, *, starts_itself: bool) -> None:
        self._starts_itself = starts_itself
        self._terminal = sys.stderr.isatty()

    def listening(self, url: str, key: str) -> None:
        """What to start, when the kit does not."""
        if not self._starts_itself:
            self._write(
                f"Listening. Start the service now:\n  LUCIUS_URL={url} LUCIUS_API_KEY={key} COMMAND\n"
            )

    def trying(self, case: Case, number: int, total: int) -> None:
        """A case begins."""
        if self._terminal:
            self._write(f"\r\x1b[2K  {number} of {total}  {case.name}: {case.title} …")

    def found(self, finding: Finding) -> None:
        """A case is over."""
        if self._terminal:
            self._write("\r\x1b[2K")
            return
        mark, _ = _STYLES[finding.verdict]
        self._write(f"{mark} {finding.case} ({finding.seconds:.1f} s)\n")

    def _write(self, text: str) -> None:
        sys.stderr.write(text)
        sys.stderr.flush()


def table(report: Report) -> RenderableType:
    """One line a case, then the sum."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, title=None)
    grid.add_column("case", no_wrap=True)
    grid.add_column("verdict", no_wrap=True)
    grid.add_column("seconds", justify="right", no_wrap=True)
    grid.add_column("remark", overflow="fold")
    for one in report.findings:
        mark, style = _STYLES[one.verdict]
        grid.add_row(
            Text(one.case, style="bold"),
            Text(f"{mark} {one.verdict}", style=style),
            f"{one.seconds:.2f}",
            _remark(one),
        )
    return Group(grid, summary(report))


def summary(report: Report) -> Text:
    """The sum of a run."""
    counts = ", ".join(f"{report.count(mark)} {mark}" for mark in _STYLES if report.count(mark))  # type: ignore[arg-type]
    took = sum(one.seconds for one in report.findings)
    return Text(f"{report.step_type}: {counts} in {took:.0f} s.", style="bold")


def _remark(finding: Finding) -> Text:
    said = Text(finding.title[:1].upper() + finding.title[1:], style="dim")
    if finding.remark:
        _, style = _STYLES[finding.verdict]
        said = Text.assemble(
            said, "\n", (printable(finding.remark), "" if finding.verdict == "passed" else style)
        )
    if finding.verdict == "failed":
        said.append(f"\n{finding.why}", style="dim")
    return said
