"""Lifebook runs for people: one in full, many in a table, what can be run, credits and dead letters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lucius.entrypoints.cli.show.job import facts, indented, plain_table
from lucius.entrypoints.cli.show.lifebook_progress import drawing
from lucius.entrypoints.cli.show.lifebook_states import badge, credits_of
from lucius.entrypoints.cli.show.words import ago, clock
from lucius.sdk.lifebook_answers import Run, Wallet

Document = dict[str, Any]
WIDE = 100
"""Columns from which tables show everything."""


def sheet(run: Run, now: int) -> RenderableType:
    """One run in full, with the reason for where it stands."""
    rows: list[tuple[str, RenderableType | None]] = [
        ("why", run.why),
        ("workspace", run.workspace_id),
        ("user", run.user_id),
        ("started by", run.trigger_type),
        ("accepted", f"{clock(run.created_at)} ({ago(run.created_at, now)})"),
        ("key", run.idempotency_key),
        ("retry of", run.retry_of),
        ("next try", f"{clock(run.next_attempt_at)}" if run.next_attempt_at and not run.over else None),
        ("input", _pairs(run.input)),
        ("made", _pairs(run.artifacts)),
        ("error", Text(run.error, style="yellow" if run.status == "completed" else "red")),
    ]
    shown = [(name, value) for name, value in rows if str(value or "")]
    return Group(drawing(run, now), Text(), indented(facts(shown)))


def listing(runs: Iterable[Document], now: int, width: int) -> Table:
    """Runs of a workspace, one a line; a narrow terminal shows what matters most."""
    wide = width >= WIDE
    table = plain_table("run", "status", "workflow", *(("started by", "credits") if wide else ()), "age")
    table.columns[0].no_wrap = table.columns[1].no_wrap = table.columns[-1].no_wrap = True
    for column in table.columns[4 if wide else 3 :]:
        column.justify = "right"
    for one in runs:
        more = (str(one.get("trigger_type", "")), credits_of(one.get("credits_estimate", 0)))
        table.add_row(
            str(one.get("job_id", "")),
            badge(str(one.get("status", ""))),
            str(one.get("workflow_id", "")),
            *(more if wide else ()),
            ago(one.get("created_at"), now).removesuffix(" ago"),
        )
    return table


def workflows(found: Sequence[Document]) -> Table:
    """What can be run."""
    table = plain_table("workflow", "credits", "attempts", "steps")
    table.columns[0].no_wrap = True
    table.columns[1].justify = table.columns[2].justify = "right"
    for one in found:
        steps = [
            f"{step.get('name')} ({credits_of(step.get('credits', 0))})" for step in one.get("steps", [])
        ]
        table.add_row(
            str(one.get("workflow_id", "")),
            credits_of(one.get("credits_estimate", 0)),
            str(one.get("max_attempts", "")),
            " → ".join(steps),
        )
    return table


def wallet(found: Wallet) -> RenderableType:
    """Credits: what is free, held and spent."""
    amounts = [
        ("available", found.available),
        ("reserved", found.reserved),
        ("spent", found.spent),
        ("deposited", found.deposited),
    ]
    width = max(len(credits_of(amount)) for _, amount in amounts)
    said = {"reserved": "held for open runs", "deposited": "all of it together"}
    table = Table.grid(padding=(0, 3, 0, 0))
    for _ in range(3):
        table.add_column(no_wrap=True)
    for name, amount in amounts:
        number = Text(credits_of(amount).rjust(width), style="bold" if name == "available" else "")
        table.add_row(Text(name, style="dim"), number, Text(said.get(name, ""), style="dim"))
    return Group(Text(f"Credits of {found.workspace_id}", style="bold"), indented(table))


def dead_letters(letters: Sequence[Document], now: int, width: int) -> Table:
    """Messages that nobody could work on; ids of those without a run are the message's own."""
    wide = width >= WIDE
    table = plain_table("id", *(("workspace", "workflow", "run is") if wide else ()), "error", "sent")
    table.columns[0].no_wrap = table.columns[-1].no_wrap = True
    for one in letters:
        told = ": ".join(part for part in (one.get("last_error_code"), one.get("last_error_message")) if part)
        status = one.get("status")
        more = (
            str(one.get("workspace_id") or ""),
            str(one.get("workflow_id") or ""),
            badge(str(status)) if status else Text("unknown", style="dim"),
        )
        table.add_row(
            str(one.get("job_id") or one.get("message_id") or ""),
            *(more if wide else ()),
            Text(told or str(one.get("body") or ""), style="red"),
            ago(one.get("sent_at"), now),
        )
    return table


def _pairs(values: dict[str, Any]) -> Text | None:
    return Text("\n".join(f"{name}: {value}" for name, value in values.items())) if values else None
