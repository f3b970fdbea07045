"""What the demo of lifebook runs tells after the run: credits, the event, the last sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from lucius.entrypoints.cli.show.job import indented, plain_table
from lucius.entrypoints.cli.show.lifebook_states import credits_of, look
from lucius.sdk.lifebook_answers import Run, Wallet

_SHOWN = ("success", "attempts", "steps_done", "steps_total", "credits_spent")


def credits_lines(run: Run, held: Wallet, after: Wallet) -> RenderableType:
    """The wallet while the run was open and after it, and what became of the reservation."""
    table = plain_table("", "available", "reserved", "spent")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, one in (("while it ran", held), ("after it", after)):
        table.add_row(name, credits_of(one.available), credits_of(one.reserved), credits_of(one.spent))
    planned, spent = run.credits_estimate, run.credits_spent
    refunded = credits_of(planned - spent)
    told = f"\n{credits_of(planned)} reserved, {credits_of(spent)} spent, {refunded} refunded."
    return indented(Group(table, Text(told)))


def event_lines(told: Sequence[dict[str, Any]]) -> Text:
    """The events of the run: one, unless something is wrong."""
    lines = []
    for one in told:
        facts = "  ".join(f"{name}={_plain(one.get(name))}" for name in _SHOWN)
        lines.append(Text.assemble("  ", (str(one.get("name", "")), "bold"), "\n    ", (facts, "dim")))
    return Text("\n").join(lines)


def sentence(run: Run) -> Text:
    """The last word."""
    shown = look(run.status)
    return Text.assemble((f"{shown.glyph} {run.status}", f"bold {shown.style}"), "  ", run.why)


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
