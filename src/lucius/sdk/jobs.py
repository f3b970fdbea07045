"""Calls about jobs that exist: list, look, ask why, control."""

from __future__ import annotations

from typing import Any, TypeVar

from lucius.sdk.answers import Events, Job, JobPage, Receipt
from lucius.sdk.call import Call, Param, given, segment

T = TypeVar("T")


def listing(**filters: Param) -> Call[JobPage]:
    """A page of jobs, newest first; `cursor` of one page asks for the next."""
    return Call(method="GET", path="/v1/jobs", answer=JobPage, repeatable=True, params=given(**filters))


def get(job_id: str) -> Call[Job]:
    """A job with its steps."""
    return _look(job_id, "", Job)


def steps(job_id: str) -> Call[dict[str, Any]]:
    """The steps alone."""
    return _look(job_id, "/steps", dict[str, Any])


def events(job_id: str, *, after: int | None = None, limit: int | None = None) -> Call[Events]:
    """What happened to a job, in its order."""
    return _look(job_id, "/events", Events, after=after, limit=limit)


def explain(job_id: str) -> Call[dict[str, Any]]:
    """Why a job stands where it stands."""
    return _look(job_id, "/explain", dict[str, Any])


def deliveries(job_id: str) -> Call[dict[str, Any]]:
    """What was told to the job's webhooks, and how it went."""
    return _look(job_id, "/deliveries", dict[str, Any])


def cancel(job_id: str, *, force: bool = False) -> Call[dict[str, Any]]:
    """Stop a job; with `force` without waiting for the step in flight."""
    return _ask(job_id, "cancel", dict[str, Any], force=force or None)


def pause(job_id: str) -> Call[dict[str, Any]]:
    """Let nothing new start."""
    return _ask(job_id, "pause", dict[str, Any])


def resume(job_id: str) -> Call[dict[str, Any]]:
    """Go on."""
    return _ask(job_id, "resume", dict[str, Any])


def retry(job_id: str) -> Call[Receipt]:
    """A new job that starts at the failed step. Asked twice, it is the same new job."""
    return Call(method="POST", path=f"/v1/jobs/{segment(job_id)}:retry", answer=Receipt, repeatable=True)


def _look(job_id: str, below: str, answer: type[T], **params: Param) -> Call[T]:
    return Call(
        method="GET",
        path=f"/v1/jobs/{segment(job_id)}{below}",
        answer=answer,
        repeatable=True,
        params=given(**params),
    )


def _ask(job_id: str, verb: str, answer: type[T], **params: Param) -> Call[T]:
    return Call(
        method="POST",
        path=f"/v1/jobs/{segment(job_id)}:{verb}",
        answer=answer,
        repeatable=False,
        params=given(**params),
    )
