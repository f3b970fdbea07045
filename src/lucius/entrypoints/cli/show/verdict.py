"""What `verify` and `doctor` found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lucius.entrypoints.cli.show.job import facts, indented

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


def verdict(report: dict[str, Any], path: str) -> RenderableType:
    """A ledger's verdict: the sentence, the figures, then each broken promise on a line."""
    mark, style = _MARKS["ok" if report["ok"] else "fail"]
    said = "keeps every promise it can show" if report["ok"] else "breaks a promise"
    figures = [
        (name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
        for name, value in report.items()
        if name != "ok" and isinstance(value, int | float | str)
    ]
    broken = [
        Text(f"  ✗ {_line(entry)}", style="red")
        for value in report.values()
        if isinstance(value, list) and not report["ok"]
        for entry in value
    ]
    return Group(Text.assemble((f"{mark} ", style), path, f" {said}."), indented(facts(figures)), *broken)


def _line(entry: Any) -> str:
    if isinstance(entry, dict):
        return " · ".join(str(value) for value in entry.values() if value not in (None, "", [], {}))
    return str(entry)
