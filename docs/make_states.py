"""Write states.md from the tables in `lucius.core.states`: `python -m docs.make_states`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from lucius.core.states import (
    JOB_STATUS,
    JOB_TRANSITIONS,
    STEP_STATUS,
    STEP_TRANSITIONS,
    TERMINAL_JOB,
    TERMINAL_STEP,
    JobState,
    StepState,
)

PAGE = Path(__file__).with_name("states.md")
INTRO = """# States

Made from `src/lucius/core/states.py` by `make docs`; a test fails when the two differ. Every move that
is not here is refused, and nothing leaves a terminal state. `state` is exact, `status` is coarse; both
are shown to clients.
"""
Moves = Mapping[str, Iterable[tuple[StrEnum, StrEnum]]]


def page() -> str:
    """The whole page."""
    parts = [INTRO]
    parts += _machine("Jobs", list(JobState), JOB_TRANSITIONS, ends=TERMINAL_JOB, status=JOB_STATUS)
    parts += _machine("Steps", list(StepState), STEP_TRANSITIONS, ends=TERMINAL_STEP, status=STEP_STATUS)
    return "\n".join(parts)


def _machine(
    title: str, order: Sequence[StrEnum], moves: Moves, *, ends: Iterable[StrEnum], status: Mapping[Any, str]
) -> list[str]:
    """A chapter; the state that comes first is where it begins."""
    return [
        f"## {title}\n",
        *_diagram(order, moves, ends),
        "| state | status | is left by |",
        "|---|---|---|",
        *(f"| {state} | {status[state]} | {_ways_out(state, moves)} |" for state in order),
        "",
        "| event | moves |",
        "|---|---|",
        *(f"| `{kind}` | {_pairs(pairs, order)} |" for kind, pairs in moves.items()),
        "",
    ]


def _diagram(order: Sequence[StrEnum], moves: Moves, ends: Iterable[StrEnum]) -> list[str]:
    edges: dict[tuple[StrEnum, StrEnum], list[str]] = {}
    for kind, pairs in moves.items():
        for pair in pairs:
            edges.setdefault(pair, []).append(kind)
    ranked = sorted(edges, key=lambda pair: (order.index(pair[0]), order.index(pair[1])))
    return [
        "```mermaid",
        "stateDiagram-v2",
        f"    [*] --> {order[0]}",
        *(f"    {old} --> {new}: {', '.join(edges[old, new])}" for old, new in ranked),
        *(f"    {end} --> [*]" for end in order if end in set(ends)),
        "```",
        "",
    ]


def _ways_out(state: StrEnum, moves: Moves) -> str:
    kinds = [f"`{kind}`" for kind, pairs in moves.items() if any(old is state for old, _ in pairs)]
    return ", ".join(kinds) or "nothing: it is terminal"


def _pairs(pairs: Iterable[tuple[StrEnum, StrEnum]], order: Sequence[StrEnum]) -> str:
    ranked = sorted(pairs, key=lambda pair: (order.index(pair[0]), order.index(pair[1])))
    return "<br>".join(f"{old} → {new}" for old, new in ranked)


def main() -> None:
    """Write the page."""
    old = PAGE.read_text() if PAGE.exists() else ""
    PAGE.write_text(page())
    print("unchanged" if page() == old else "rewritten", PAGE.name)


if __name__ == "__main__":
    main()
