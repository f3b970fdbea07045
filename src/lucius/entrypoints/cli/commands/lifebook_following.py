"""Following one lifebook run until it is over, with something to look at.

On a terminal: live progress, redrawn in place. Elsewhere: one line for each thing that happens. For `--json`:
silence. The run is looked at again and again, more often while it moves; a server that is away for a while is
waited for, and what is shown is always the run as the server has it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import typer

from lucius.entrypoints.cli.endings import Ending
from lucius.entrypoints.cli.show.lifebook_progress import RunProgress
from lucius.entrypoints.cli.show.lifebook_story import RunStory
from lucius.errors import LuciusError
from lucius.sdk import lifebook
from lucius.sdk.call import Patience
from lucius.sdk.problems import NOT_LUCIUS

if TYPE_CHECKING:
    from lucius.entrypoints.cli.session import Session
    from lucius.sdk.lifebook_answers import Run

_SOON, _LATER = 0.1, 1.0
"""Seconds between two looks: while it moves, and once nothing has moved for ten times as long."""
_AWAY_FOR = 120.0
_ONCE = Patience(attempts=1)


def follow(
    session: Session, run: Run, *, timeout: float | None, now: int, story: RunStory | None = None
) -> Run:
    """Stay until the run is over or the time is up; the run as it stands then. `story` hears all of it."""
    told = story or RunStory()
    if session.as_json:
        return _quietly(session, run, timeout)
    if session.out.is_terminal and not session.out.is_dumb_terminal:
        return _live(session, run, timeout, now, told)
    return _lines(session, run, timeout, told)


def ending(run: Run) -> Ending:
    """The exit code a run that was waited for ends in."""
    if not run.over:
        return Ending.STILL_RUNNING
    return Ending.OK if run.status == "completed" else Ending.REFUSED


def conclude(session: Session, run: Run) -> None:
    """The last word on a run that was waited for, and the exit code it deserves."""
    from rich.text import Text

    code = ending(run)
    if session.as_json:
        session.show(session.client.raw(lifebook.get(run.job_id)))
    elif code is Ending.STILL_RUNNING:
        told = f"  The time is up; the run goes on. lucius lifebook watch {run.job_id}"
        session.out.print(Text(told, style="yellow"), soft_wrap=True)
    elif code is Ending.REFUSED:
        if session.out.is_terminal and run.error:
            session.out.print(Text(f"  {run.error}", style="red" if run.status == "dead" else "magenta"))
        session.out.print(Text(f"  lucius lifebook retry {run.job_id}", style="dim"), soft_wrap=True)
    raise typer.Exit(code)


def _quietly(session: Session, run: Run, timeout: float | None) -> Run:
    return deque(_looks(session, run, timeout, _silent), maxlen=1)[0]


def _lines(session: Session, run: Run, timeout: float | None, story: RunStory) -> Run:
    from rich.text import Text

    def broke(error: LuciusError) -> None:
        session.out.print(f"  … {error.message} Connecting again.", style="yellow")

    latest = run
    for latest in _looks(session, run, timeout, broke):
        for since, words in story.heard(latest):
            session.out.print(Text.assemble((f"{since:>8}", "dim"), "  ", words), soft_wrap=True)
    return latest


def _live(session: Session, run: Run, timeout: float | None, now: int, story: RunStory) -> Run:
    from rich.live import Live

    progress = RunProgress(run, now=now, tick=time.monotonic)
    with Live(progress, console=session.out, refresh_per_second=12):
        latest = run
        for latest in _looks(session, run, timeout, progress.broke):
            story.heard(latest)
            progress.show(latest)
    return latest


def _looks(
    session: Session, run: Run, timeout: float | None, on_break: Callable[[LuciusError], None]
) -> Iterator[Run]:
    """The run now, and whenever it was looked at again, until it is over or the time is up."""
    until = None if timeout is None else time.monotonic() + timeout
    pause, lost_at, moved_at = _SOON, None, time.monotonic()
    yield run
    while not run.over and (until is None or time.monotonic() < until):
        time.sleep(pause if until is None else min(pause, max(until - time.monotonic(), 0.0)))
        try:
            found = session.client.send(lifebook.get(run.job_id), patience=_ONCE)
        except LuciusError as error:
            if not error.retryable or error.code == NOT_LUCIUS:
                raise
            if lost_at is None:
                lost_at = time.monotonic()
                on_break(error)
            elif time.monotonic() - lost_at > _AWAY_FOR:
                raise
            pause = _LATER
            continue
        lost_at = None
        if found.updated_at != run.updated_at:
            moved_at = time.monotonic()
        pause = min(max((time.monotonic() - moved_at) / 10, _SOON), _LATER)
        run = found
        yield run


def _silent(_: LuciusError) -> None:
    """For programs: nothing is said before the answer."""
