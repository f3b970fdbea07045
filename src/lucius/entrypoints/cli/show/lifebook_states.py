"""One glyph, one colour and one plain word for each status of a lifebook run and each state of a step."""

from __future__ import annotations

from rich.text import Text

from lucius.entrypoints.cli.show.states import Look

_UNKNOWN = Look("·", "dim", "")
_RUNS = {
    "pending": Look("○", "dim", "recorded"),
    "queued": Look("○", "cyan", "in the queue"),
    "running": Look("◑", "cyan", "running"),
    "failed": Look("↻", "yellow", "will be tried again"),
    "completed": Look("✓", "green", "done"),
    "dead": Look("✗", "red", "failed for good"),
    "canceled": Look("⊘", "magenta", "canceled"),
}
_STEPS = {
    "done": Look("✓", "green", "done"),
    "running": Look("◑", "cyan", "running"),
    "failed": Look("✗", "red", "failed"),
    "waiting": Look("○", "dim", "waiting"),
    "skipped": Look("–", "dim", "left out"),
}


def look(status: str) -> Look:
    """How a run is shown; a status this version does not know is shown plainly."""
    return _RUNS.get(status, _UNKNOWN)


def step_look(state: str, *, again: bool) -> Look:
    """How a step is shown; `again`: it has failed, and will be tried once more."""
    return _RUNS["failed"] if again and state == "failed" else _STEPS.get(state, _UNKNOWN)


def badge(status: str) -> Text:
    """The glyph and the status's own name."""
    shown = look(status)
    return Text(f"{shown.glyph} {status}", style=shown.style)


def credits_of(amount: float) -> str:
    """Credits with two decimals: `4.50`, `1,000.00`."""
    return f"{amount:,.2f}"
