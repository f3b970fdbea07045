"""One glyph, one colour and one plain word for each state of jobs and steps."""

from __future__ import annotations

from typing import NamedTuple

from rich.text import Text


class Look(NamedTuple):
    """How a state is shown."""

    glyph: str
    style: str
    word: str


_UNKNOWN = Look("·", "dim", "")
_LOOKS = {
    "QUEUED": Look("○", "dim", "queued"),
    "PENDING": Look("○", "dim", "waiting"),
    "DISPATCHING": Look("◔", "cyan", "sending"),
    "AWAITING_ACK": Look("◔", "cyan", "sent"),
    "IN_PROGRESS": Look("◑", "cyan", "working"),
    "FAILED_RETRY": Look("↻", "yellow", "will retry"),
    "PAUSING": Look("‖", "yellow", "pausing"),
    "PAUSED": Look("‖", "yellow", "paused"),
    "CANCELLING": Look("⊘", "magenta", "cancelling"),
    "CANCELLED": Look("⊘", "magenta", "cancelled"),
    "SUCCEEDED": Look("✓", "green", "done"),
    "FAILED_FINAL": Look("✗", "red", "failed"),
}


def look(state: str) -> Look:
    """How a state is shown; a state this version does not know is shown plainly."""
    return _LOOKS.get(state, _UNKNOWN)


def badge(state: str) -> Text:
    """The glyph and the state's own name."""
    shown = look(state)
    return Text(f"{shown.glyph} {state}", style=shown.style)
