"""Live progress of one job: its steps with bars, attempts, states and times."""

from __future__ import annotations

from collections.abc import Callable

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from lucius.entrypoints.cli.show.states import look
from lucius.entrypoints.cli.show.words import between, duration, moment
from lucius.errors import LuciusError
from lucius.sdk.answers import Job, Step

_BAR = 28
_WORKING = frozenset({"DISPATCHING", "AWAITING_ACK", "IN_PROGRESS"})


class Progress:
    """A renderable that is drawn anew many times a second.

    `now` is the time when it was made, in milliseconds; `tick` counts the seconds since then.
    """

    def __init__(self, job: Job, *, now: int, tick: Callable[[], float]) -> None:
        self._now = now
        self._tick = tick
        self._began = self._shown_at = tick()
        self._job = job
        self._trouble: str | None = None

    def show(self, job: Job) -> None:
        """Draw this from now on."""
        self._job = job
        self._trouble = None
        self._shown_at = self._tick()

    def broke(self, error: LuciusError) -> None:
        """Say that the server is away."""
        self._trouble = error.message

    def age(self) -> float:
        """Seconds since the job was last looked at."""
        return self._tick() - self._shown_at

    def __rich__(self) -> RenderableType:
        now = self._now + int((self._tick() - self._began) * 1000)
        parts: list[RenderableType] = [heading(self._job, now), steps(self._job, now, self._tick())]
        if self._trouble:
            parts.append(Text(f"  {self._trouble} Connecting again.", style="yellow"))
        return Group(*parts)


def heading(job: Job, now: int) -> Text:
    """The job in one line."""
    shown = look(job.state)
    return Text.assemble(
        (f"{shown.glyph} {job.request_type}", f"bold {shown.style}"),
        "  ",
        (job.state, shown.style),
        "  ",
        duration(_elapsed(job.created_at, job.completed_at, now)),
        (f"  {job.job_id}", "dim"),
    )


def steps(job: Job, now: int, phase: float) -> Table:
    """One line a step."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(width=_BAR)
    table.add_column(no_wrap=True, min_width=10)
    table.add_column(no_wrap=True, justify="right", min_width=7)
    table.add_column(no_wrap=True, style="dim")
    for step in job.steps:
        shown = look(step.state)
        table.add_row(
            Text(f"  {shown.glyph}", style=shown.style),
            Text(step.step_id),
            _bar(step, phase),
            Text(shown.word or step.state, style=shown.style),
            Text(_time(step, now)),
            Text(_remark(step, now)),
        )
    return table


def _bar(step: Step, phase: float) -> ProgressBar:
    shown = look(step.state)
    done = step.state == "SUCCEEDED"
    unknown = step.state in _WORKING and step.progress is None
    return ProgressBar(
        total=1.0,
        completed=1.0 if done else step.progress or 0.0,
        width=_BAR,
        pulse=unknown,
        animation_time=phase,
        complete_style=shown.style,
        finished_style=shown.style,
        pulse_style=shown.style,
    )


def _time(step: Step, now: int) -> str:
    if step.started_at is None:
        return ""
    return duration(_elapsed(step.started_at, step.completed_at, now))


def _remark(step: Step, now: int) -> str:
    parts = []
    if (step.attempt_no or 0) > 1:
        parts.append(f"attempt {step.attempt_no}")
    if step.state == "FAILED_RETRY" and (due := moment(step.retry_at)) is not None:
        parts.append(f"again in {duration(due - now)}")
    if step.last_error_code and step.state != "SUCCEEDED":
        parts.append(step.last_error_code)
    elif step.progress_message and step.state != "SUCCEEDED":
        parts.append(step.progress_message)
    return " · ".join(parts)


def _elapsed(start: str | None, end: str | None, now: int) -> int | None:
    if end is not None:
        return between(start, end)
    began = moment(start)
    return None if began is None else now - began
