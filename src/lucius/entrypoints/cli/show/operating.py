"""Tables for people who run Lucius: dead letters, lanes, protocols, keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lucius.entrypoints.cli.show.job import facts, plain_table
from lucius.entrypoints.cli.show.words import ago

Document = dict[str, Any]


def dead_letters(letters: Sequence[Document], now: int) -> Table:
    """Jobs that failed for good."""
    table = plain_table("job", "tenant", "step", "error", "died", "redriven as")
    table.columns[0].no_wrap = True
    for one in letters:
        told = ": ".join(part for part in (one.get("error_code"), one.get("error_message")) if part)
        table.add_row(
            str(one.get("jobId", "")),
            str(one.get("tenant_id", "")),
            str(one.get("step_id") or ""),
            Text(told, style="red"),
            ago(one.get("dead_at"), now),
            str(one.get("redriven_as") or ""),
        )
    return table


def lanes(document: Document) -> RenderableType:
    """Where a tenant's messages go."""
    table = plain_table("mode", "lane", "topic", "replies", "routing key")
    for lane in document.get("lanes", []):
        table.add_row(
            str(lane.get("mode", "")),
            str(lane.get("lane", "")),
            str(lane.get("topic", "")),
            str(lane.get("reply_topic", "")),
            str(lane.get("routing_key_used", "")),
        )
    backlog = {name: n for name, n in (document.get("backlog") or {}).items() if n}
    waiting = ", ".join(f"{name} {n}" for name, n in sorted(backlog.items())) or "nothing"
    unsent = document.get("unsent", 0)
    return Group(
        table,
        Text(),
        facts(
            [
                ("not sent yet", "known to the invoker only" if unsent is None else str(unsent)),
                ("waiting on the bus", waiting),
            ]
        ),
    )


def protocols(known: Sequence[Document]) -> Table:
    """The recipes."""
    table = plain_table("request type", "version", "steps", "")
    for one in known:
        steps = " → ".join(str(step.get("step_id", "")) for step in one.get("steps", []))
        table.add_row(
            str(one.get("request_type", "")),
            str(one.get("version", "")),
            steps,
            str(one.get("description") or ""),
        )
    return table


def keys(found: Sequence[Document], now: int) -> Table:
    """API keys without their secrets."""
    table = plain_table("key id", "name", "tenants", "roles", "made", "")
    for one in found:
        tenants = "all" if one["tenants"] is None else ", ".join(one["tenants"])
        end = one["revoked_at"] or one["expires_at"]
        what = "revoked" if one["revoked_at"] else "expires" if end else ""
        table.add_row(
            one["key_id"],
            one["name"],
            tenants,
            ", ".join(one["roles"]),
            ago(one["created_at"], now),
            Text(f"{what} {ago(end, now)}".strip() if end else "", style="dim"),
        )
    return table
