"""Waiting for a job, with something to look at.

On a terminal: live progress, redrawn in place. Elsewhere: one line an event. For `--json`: silence. The
events only say that something changed; what is shown is the job as the server has it, so a client that
lost its connection shows the truth again as soon as it is back.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lucius.entrypoints.cli.endings import Ending
from lucius.entrypoints.cli.show.progress import Progress
from lucius.entrypoints.cli.show.story import line
from lucius.entrypoints.cli.show.words import moment
from lucius.errors import LuciusError
from lucius.sdk import jobs
from lucius.sdk.answers import Job
from lucius.sdk.call import Patience

if TYPE_CHECKING:
    from lucius.entrypoints.cli.session import Session

_QUICK = 0.02
"""Seconds between two looks at the job while events rain down."""
_THROUGH_A_RESTART = Patience(attempts=40, longest_wait=1.0)


def wait(session: Session, job_id: str, *, timeout: float | None = None, now: int) -> Job:
    """Stay until the job is over or the time is up; the job as it stands then."""
    job = session.client.send(jobs.get(job_id))
    if session.as_json:
        return _quietly(session, job, timeout)
    if session.out.is_terminal and not session.out.is_dumb_terminal:
        return _live(session, job, timeout, now)
    return _lines(session, job, timeout)


def ending(job: Job) -> Ending:
    """The exit code a waited-for job ends in."""
    if not job.over:
        return Ending.STILL_RUNNING
    return Ending.OK if job.state == "SUCCEEDED" else Ending.REFUSED


def _quietly(session: Session, job: Job, timeout: float | None) -> Job:
    if not job.over:
        for _ in session.client.follow(job.job_id, after=job.version, within=timeout):
            pass
    return _now(session, job)


def _lines(session: Session, job: Job, timeout: float | None) -> Job:
    began = moment(job.created_at)

    def broke(error: LuciusError) -> None:
        session.out.print(f"  … {error.message} Connecting again.", style="yellow")

    for event in session.client.follow(job.job_id, within=timeout, on_break=broke):
        session.out.print(line(event, began), soft_wrap=True)
    return _now(session, job)


def _live(session: Session, job: Job, timeout: float | None, now: int) -> Job:
    from rich.live import Live

    progress = Progress(job, now=now, tick=time.monotonic)
    with Live(progress, console=session.out, refresh_per_second=12):
        if not job.over:
            follow = session.client.follow(
                job.job_id, after=job.version, within=timeout, on_break=progress.broke
            )
            for _ in follow:
                if progress.age() > _QUICK:
                    progress.show(_now(session, job))
            job = _now(session, job)
        progress.show(job)
    return job


def _now(session: Session, job: Job) -> Job:
    return session.client.send(jobs.get(job.job_id), patience=_THROUGH_A_RESTART)
