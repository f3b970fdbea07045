"""Write the moves of runs into lifebook.md, from `lucius.lifebook`: `python -m docs.make_lifebook`."""

from __future__ import annotations

import re
from pathlib import Path

from lucius.lifebook.core.states import TERMINAL, TRANSITIONS, Status

PAGE = Path(__file__).with_name("lifebook.md")
START, END = "<!-- moves: start -->", "<!-- moves: end -->"

#: command -> who gives it, and what it means.
GIVEN_BY = {
    "sent": ("API, sweeper, triggers", "its message is in the queue"),
    "resend": ("sweeper", "its message seems lost: another one is sent"),
    "acquire": ("worker", "takes it; one that comes after too many lost workers ends it"),
    "beat": ("worker", "is alive, keeps the lock"),
    "checkpoint": ("worker", "a step is done; the last one completes the run"),
    "fail": ("worker", "the attempt failed; the last one, or poison, ends the run"),
    "hand_on": ("worker", "stops, or runs out of time: another one goes on with the same attempt"),
    "cancel": ("API", "at once"),
    "bury": ("dead letters", "its message was received too often"),
}  # fmt: skip


def tables() -> str:
    """Which command makes which moves, and how each status is left."""
    lines = ["| command | given by | meaning | moves |", "|---|---|---|---|"]
    for command, moves in TRANSITIONS.items():
        who, meaning = GIVEN_BY[command]
        lines.append(f"| `{command}` | {who} | {meaning} | {_shown(moves)} |")
    lines += ["", "| status | is left by |", "|---|---|"]
    for status in Status:
        left = [f"`{name}`" for name, moves in TRANSITIONS.items() if any(old is status for old, _ in moves)]
        lines.append(f"| `{status}` | {', '.join(left) or 'nothing: it is terminal'} |")
    assert all(old not in TERMINAL for moves in TRANSITIONS.values() for old, _ in moves)  # noqa: S101
    return "\n".join(lines)


def _shown(moves: frozenset[tuple[Status, Status]]) -> str:
    order = list(Status)
    ranked = sorted(moves, key=lambda move: (order.index(move[0]), order.index(move[1])))
    return "<br>".join(f"{old} → {new}" for old, new in ranked)


def page() -> str:
    """The page with its tables as they should be."""
    made = f"{START}\n{tables()}\n{END}"
    return re.sub(f"{START}\n.*{END}", lambda _: made, PAGE.read_text("utf-8"), flags=re.DOTALL)


def main() -> None:
    """Write them."""
    old, new = PAGE.read_text("utf-8"), page()
    PAGE.write_text(new, encoding="utf-8")
    print("unchanged" if new == old else "rewritten", PAGE.name)


if __name__ == "__main__":
    main()
