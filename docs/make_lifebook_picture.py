"""Draws the life of a lifebook run, docs/pictures/lifebook-run.svg: `python -m docs.make_lifebook_picture`.

Places and lines are chosen by hand; a test holds what they show against the table in
`lucius.lifebook.core.states`, so that no move is missing and none is made up.
"""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

from lucius.lifebook.core.states import TERMINAL, Status

PICTURE = Path(__file__).parent / "pictures" / "lifebook-run.svg"
TOP, WIDTH, HEIGHT = 40, 960, 450
INK = {"API": "#1f5fbf", "worker": "#1d7a46", "duty": "#b4550f"}
S = Status
OPEN = tuple(status for status in S if status not in TERMINAL)
PLACES = {
    S.PENDING: (110, 190), S.QUEUED: (320, 190), S.RUNNING: (560, 190), S.FAILED: (560, 350),
    S.COMPLETED: (860, 190), S.DEAD: (860, 350), S.CANCELED: (860, 440),
}  # fmt: skip
_HALF, _TALL = 56, 20
_FONT = 'font-family="system-ui, sans-serif" font-size="13"'
_DASHED = 'fill="#f6f7f9" stroke="#c3c9d1" stroke-dasharray="5 4"'


class Line(NamedTuple):
    """A command, who gives it, the moves it stands for, its path, its words and where they stand."""

    command: str
    by: str
    moves: frozenset[tuple[Status, Status]]
    path: str
    words: tuple[str, ...]
    at: tuple[int, int]
    anchor: str = "middle"


def _one(old: Status, new: Status) -> frozenset[tuple[Status, Status]]:
    return frozenset({(old, new)})


LINES = (
    Line("sent", "API", _one(S.PENDING, S.QUEUED), "M166 190 H258", ("sent",), (212, 182)),
    Line("acquire", "worker", _one(S.PENDING, S.RUNNING), "M110 170 C150 95 470 95 538 165",
         ("acquire: quicker than the note",), (310, 108)),
    Line("acquire", "worker", _one(S.QUEUED, S.RUNNING), "M376 184 H498", ("acquire",), (438, 176)),
    Line("hand_on", "worker", _one(S.RUNNING, S.QUEUED), "M504 204 C470 236 410 236 378 208",
         ("hand_on: same attempt",), (440, 250)),
    Line("checkpoint", "worker", _one(S.RUNNING, S.RUNNING), "M540 170 C520 110 600 110 580 164",
         ("beat, checkpoint; acquire", "after a lock that ended"), (560, 92)),
    Line("beat", "worker", _one(S.RUNNING, S.RUNNING), "", (), (0, 0)),
    Line("acquire", "worker", _one(S.RUNNING, S.RUNNING), "", (), (0, 0)),
    Line("fail", "worker", _one(S.RUNNING, S.FAILED), "M545 210 V322", ("fail",), (536, 272), "end"),
    Line("acquire", "worker", _one(S.FAILED, S.RUNNING), "M575 330 V218",
         ("acquire, after", "the backoff"), (584, 262), "start"),
    Line("checkpoint", "worker", _one(S.RUNNING, S.COMPLETED), "M616 190 H796",
         ("last checkpoint",), (738, 182)),
    Line("fail", "worker", _one(S.RUNNING, S.DEAD), "M608 210 L808 322",
         ("fail: the last attempt, or poison",), (730, 262), "start"),
    Line("acquire", "worker", _one(S.RUNNING, S.DEAD), "",
         ("acquire: one worker too many",), (755, 280), "start"),
    Line("bury", "duty", frozenset((status, S.DEAD) for status in OPEN), "M680 350 H796",
         ("bury: from any",), (738, 342)),
    Line("cancel", "API", frozenset((status, S.CANCELED) for status in OPEN), "M680 400 L798 434",
         ("cancel: from any",), (738, 392)),
    Line("resend", "duty", frozenset((status, status) for status in OPEN), "",
         ("resend: from any, its status stays",), (40, 398), "start"),
)  # fmt: skip


def shown() -> dict[str, frozenset[tuple[Status, Status]]]:
    """The moves that the picture has, by command."""
    found: dict[str, frozenset[tuple[Status, Status]]] = {}
    for line in LINES:
        found[line.command] = found.get(line.command, frozenset()) | line.moves
    return found


def picture() -> str:
    """The whole of it."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 {TOP} {WIDTH} {HEIGHT}" {_FONT}>',
        "<title>The life of a lifebook run: its statuses, and who moves it</title>",
        f'<rect y="{TOP}" width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
        *(_head(name, colour) for name, colour in INK.items()),
        f'<rect x="24" y="52" width="656" height="362" rx="14" {_DASHED}/>',
        _text("open: holds credits, somebody will look at it", 40, 76, "#59626d", "start"),
        *(_status(status) for status in S),
        *(part for line in LINES for part in _line(line)),
        *_legend(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _head(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" '
        f'orient="auto"><path d="M0 0 L10 5 L0 10 z" fill="{colour}"/></marker>'
    )


def _text(words: str, x: int, y: int, colour: str, anchor: str = "middle", *, extra: str = "") -> str:
    return f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}"{extra}>{escape(words)}</text>'


def _status(status: Status) -> str:
    x, y = PLACES[status]
    ended = status in TERMINAL
    fill, stroke = ("#2b3138", "#2b3138") if ended else ("#ffffff", "#2b3138")
    box = (
        f'<rect x="{x - _HALF}" y="{y - _TALL}" width="{2 * _HALF}" height="{2 * _TALL}" rx="8" '
        f'fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>'
    )
    return box + _text(status, x, y + 5, "#ffffff" if ended else "#2b3138", extra=' font-weight="600"')


def _line(line: Line) -> list[str]:
    colour, (x, y) = INK[line.by], line.at
    look = f'fill="none" stroke="{colour}" stroke-width="1.6" marker-end="url(#{line.by})"'
    drawn = [f'<path d="{line.path}" {look}/>'] if line.path else []
    return drawn + [_text(word, x, y + 15 * at, colour, line.anchor) for at, word in enumerate(line.words)]


def _legend() -> list[str]:
    told = {
        "API": "people, and what starts runs",
        "worker": "whoever holds the lock, or takes it",
        "duty": "sweeper, dead letters",
    }
    places = (40, 300, 610)
    return [
        f'<path d="M{x} 466 h28" stroke="{INK[name]}" stroke-width="1.6" marker-end="url(#{name})"/>'
        + _text(words, x + 38, 470, INK[name], "start")
        for x, (name, words) in zip(places, told.items(), strict=True)
    ]


def main() -> None:
    """Write it."""
    old = PICTURE.read_text("utf-8") if PICTURE.exists() else ""
    PICTURE.write_text(picture(), encoding="utf-8")
    print("unchanged" if picture() == old else "rewritten", f"pictures/{PICTURE.name}")


if __name__ == "__main__":
    main()
