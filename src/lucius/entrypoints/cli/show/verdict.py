"""What `verify` and `doctor` found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lucius.entrypoints.cli.show.job import indented
from lucius.entrypoints.cli.show.words import count

if TYPE_CHECKING:
    from lucius.entrypoints.cli.examination import Finding

_MARKS = {"ok": ("✓", "green"), "warn": ("!", "yellow"), "fail": ("✗", "red")}


def findings(found: Sequence[Finding]) -> Table:
    """One line a question, with what to do where something is to be done."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for one in found:
        glyph, style = _MARKS[one.state]
        detail = Text(one.detail)
        if one.remedy:
            detail.append(f"\n{one.remedy}", style="dim")
        table.add_row(Text(glyph, style=style), Text(one.name, style="bold"), detail)
    return table


def verdict(report: dict[str, Any]) -> RenderableType:
    """A ledger's verdict: the sentence, what was read, then each broken promise on a line."""
    read = f"{count(report['jobs'], 'job')}, {count(report['events'], 'event')}, "
    return _verdict(report, read + count(report["directives"], "directive"))


def lifebook_verdict(report: dict[str, Any]) -> RenderableType:
    """The same of a lifebook file."""
    read = f"{count(report['runs'], 'run')}, {count(report['messages'], 'message')}, "
    return _verdict(report, read + count(report["untold"], "untold event"))


def _verdict(report: dict[str, Any], read: str) -> RenderableType:
    kept = not report["broken"]
    mark, style = _MARKS["ok" if kept else "fail"]
    said = "keeps every promise it can show" if kept else f"shows {count(report['broken'], 'broken promise')}"
    read += f" · schema {report['schema_version']}"
    lines = [
        Text.assemble(
            ("✗ ", "red"), (one["promise"], "bold"), f"  {one['job_id'] or 'the file'}  {one['what']}"
        )
        for one in report["findings"]
    ]
    sentence = Text.assemble((f"{mark} ", style), report["path"], f" {said}.")
    return Group(sentence, Text(f"  {read}", style="dim"), *(indented(line) for line in lines))
