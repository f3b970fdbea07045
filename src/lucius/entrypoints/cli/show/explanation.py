"""Why a job stands where it stands."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from lucius.entrypoints.cli.show.job import facts, indented
from lucius.entrypoints.cli.show.plan import shares
from lucius.entrypoints.cli.show.states import look
from lucius.entrypoints.cli.show.story import timeline, typed
from lucius.entrypoints.cli.show.words import ago, count

Document = dict[str, Any]


def sheet(explanation: Document, began: str | None, now: int) -> RenderableType:
    """The sentence first, then what is behind it."""
    blocking = explanation.get("blocking") or {}
    error = explanation.get("last_error") or {}
    told = f"{error.get('code')}: {error.get('message', '')}".rstrip(": ") if error else None
    rows: list[tuple[str, RenderableType | None]] = [
        ("reason", str(blocking.get("kind", "")).replace("_", " ")),
        ("since", ago(blocking.get("since"), now) if blocking.get("since") else None),
        ("next", str(explanation.get("next_action") or "")),
        ("due", ago(explanation.get("next_due_at"), now) if explanation.get("next_due_at") else None),
        ("queue", _queue(explanation.get("queue") or {})),
        ("lane", f"{explanation.get('lane')} · {explanation.get('topic')}"),
        ("in flight", shares(explanation.get("limits") or {})),
        ("last error", Text(told, style="red") if told else None),
    ]
    history = typed(explanation.get("history") or ())
    return Group(
        sentence(explanation),
        Text(),
        indented(facts(rows)),
        Text(),
        indented(timeline(history, began)),
    )


def sentence(explanation: Document) -> Text:
    """The one sentence."""
    state = str(explanation.get("state", ""))
    shown = look(state)
    return Text.assemble(
        (f"{shown.glyph} {state}", f"bold {shown.style}"), "  ", str(explanation.get("because", ""))
    )


def _queue(queue: Document) -> str | None:
    parts = []
    if queue.get("position_estimate"):
        parts.append(f"about {count(queue['position_estimate'], 'directive')} first")
    if queue.get("ahead_of_tenant"):
        parts.append(f"{count(queue['ahead_of_tenant'], 'tenant')} before this one")
    if queue.get("service_backlog"):
        parts.append(f"{count(queue['service_backlog'], 'directive')} waiting for this kind of service")
    return ", ".join(parts) or None
