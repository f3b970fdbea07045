"""Live progress of one lifebook run: a bar of its steps, attempts, credits, and what it waits for."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lucius.entrypoints.cli.show.lifebook_states import credits_of, look, step_look
from lucius.entrypoints.cli.show.words import between, duration, moment
from lucius.errors import LuciusError
from lucius.sdk.lifebook_answers import Run

_BAR = 20
_USUAL_WAIT = 1500
"""Milliseconds in the queue that need no explanation."""


class RunProgress:
    """A renderable that is drawn anew many times a second.

    `now` is the time when it was made, in milliseconds; `tick` counts the seconds since then.
    """

    def __init__(self, run: Run, *, now: int, tick: Callable[[], float]) -> None:
        self._now = now
        self._tick = tick
        self._began = tick()
        self._run = run
        self._trouble: str | None = None

    def show(self, run: Run) -> None:
        """Draw this from now on."""
        self._run = run
        self._trouble = None

    def broke(self, error: LuciusError) -> None:
        """Say that the server is away."""
        self._trouble = error.message

    def __rich__(self) -> RenderableType:
        now = self._now + int((self._tick() - self._began) * 1000)
        parts: list[RenderableType] = [drawing(self._run, now), *_waits(self._run, now)]
        if self._trouble:
            parts.append(Text(f"  {self._trouble} Connecting again.", style="yellow"))
        return Group(*parts)


def drawing(run: Run, now: int) -> RenderableType:
    """The run, how far it is, and its steps."""
    return Group(heading(run, now), _whole(run), _steps(run, now))


def heading(run: Run, now: int) -> Text:
    """The run in one line."""
    shown = look(run.status)
    took = between(run.created_at, run.completed_at) if run.completed_at else _since(run.created_at, now)
    return Text.assemble(
        (f"{shown.glyph} {run.workflow_id}", f"bold {shown.style}"),
        "  ",
        (run.status, shown.style),
        "  ",
        duration(took),
        (f"  {run.job_id}", "dim"),
        no_wrap=True,
    )


def tried(run: Run) -> str:
    """`attempt 2 of 5`; before the first one, nothing."""
    return f"attempt {run.attempts} of {run.max_attempts}" if run.attempts else ""


def _whole(run: Run) -> Table:
    shown = look(run.status)
    style = shown.style if run.status in {"completed", "dead", "canceled", "failed"} else "cyan"
    bar = ProgressBar(
        total=max(run.steps_total, 1),
        completed=run.step_cursor,
        width=_BAR,
        complete_style=style,
        finished_style=style,
    )
    money = f"{credits_of(run.credits_spent)} of {credits_of(run.credits_estimate)} credits"
    words = [f"{run.step_cursor} of {run.steps_total} steps", tried(run), money]
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(width=_BAR + 2)
    table.add_column()
    table.add_row(_beside(bar), Text(" · ".join(word for word in words if word)))
    return table


def _beside(bar: ProgressBar) -> Table:
    grid = Table.grid(padding=0)
    grid.add_column(width=2)
    grid.add_column(width=_BAR)
    grid.add_row("", bar)
    return grid


def _steps(run: Run, now: int) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, min_width=8)
    table.add_column(no_wrap=True, justify="right", style="dim")
    table.add_column(overflow="ellipsis", no_wrap=True)
    for index, step in enumerate(run.steps):
        shown = step_look(step.state, again=run.status == "failed")
        remark = _remark(run, now) if index == run.step_cursor else Text()
        name = Text(step.name, style="" if step.state in {"done", "running", "failed"} else "dim")
        word = "failed" if step.state == "failed" else shown.word
        glyph = Text(f"  {shown.glyph}", style=shown.style)
        table.add_row(glyph, name, Text(word, style=shown.style), credits_of(step.credits), remark)
    return table


def _remark(run: Run, now: int) -> Text:
    """What is to be said of the step at the cursor."""
    if run.status == "failed":
        return Text(f"{run.last_error_code or 'failed'} · {again(run, now)}", style="yellow")
    if run.status == "running" and run.attempts > 1:
        return Text(f"{tried(run)} goes on here", style="cyan")
    return Text(run.last_error_code or "", style="red") if run.status == "dead" else Text()


def again(run: Run, now: int) -> str:
    """When a failed run is tried again: `again in 1.8 s`."""
    due = moment(run.next_attempt_at)
    if due is None:
        return "again when its message comes back"
    return f"again in {duration(due - now)}" if due > now else "again now"


def _waits(run: Run, now: int) -> list[RenderableType]:
    """Why it waits, while it does."""
    if run.status == "failed":
        return [_aside(run.last_error_message or run.error, "yellow")]
    made = moment(run.created_at)
    if run.status in {"pending", "queued"} and made is not None and now - made > _USUAL_WAIT:
        return [_aside(run.why, "dim")]
    held_until = None if run.lock is None else moment(str(run.lock.get("expires_at")))
    lost = run.status == "running" and held_until is not None and held_until < now
    return [_aside(run.why, "yellow")] if lost else []


def _aside(words: str, style: str) -> Padding:
    return Padding(Text(words, style=style), (0, 0, 0, 2), expand=False)


def _since(start: str | None, now: int) -> int | None:
    began = moment(start)
    return None if began is None else now - began
