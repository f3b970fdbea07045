"""Calls about lifebook runs: start, look, stop, repeat; credits, dead letters, schedules and hooks."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from lucius.sdk.call import Call, Param, given, segment
from lucius.sdk.lifebook_answers import Run, RunPage, Wallet

Document = dict[str, Any]
T = TypeVar("T")
_HOME = "/v1/lifebook"


def create(request: Document) -> Call[Run]:
    """Start a run: `workspace_id`, `user_id`, `workflow_id`, and perhaps `input` and `idempotency_key`.

    Repeatable if it has a key: the same key in the same workspace is the same run.
    """
    return _post("/jobs", Run, body=request, repeatable="idempotency_key" in request)


def get(job_id: str) -> Call[Run]:
    """One run, its steps, and why it stands where it stands."""
    return _look(f"/jobs/{segment(job_id)}", Run)


def listing(workspace: str, *, limit: int | None = None, cursor: str | None = None) -> Call[RunPage]:
    """A page of a workspace's runs, newest first; `cursor` of one page asks for the next."""
    return _look(f"/workspaces/{segment(workspace)}/jobs", RunPage, limit=limit, cursor=cursor)


def cancel(job_id: str, *, reason: str | None = None) -> Call[Run]:
    """Stop a run at once. Asked twice, it is canceled once."""
    body = {"reason": reason} if reason else None
    return _post(f"/jobs/{segment(job_id)}:cancel", Run, body=body, repeatable=True)


def retry(job_id: str, *, user: str | None = None) -> Call[Run]:
    """Run one that has ended again, as a new run. Asked twice, it is the same new run."""
    body = {"user_id": user} if user else None
    return _post(f"/jobs/{segment(job_id)}:retry", Run, body=body, repeatable=True)


def workflows() -> Call[Document]:
    """What can be run."""
    return _look("/workflows", Document)


def wallet(workspace: str) -> Call[Wallet]:
    """What is free, what is held for open runs, what is spent."""
    return _look(f"/workspaces/{segment(workspace)}/wallet", Wallet)


def deposit(workspace: str, amount: float, *, deposit_id: str) -> Call[Wallet]:
    """Add credits, once for each id."""
    body = {"credits": amount, "deposit_id": deposit_id}
    return _post(f"/workspaces/{segment(workspace)}/wallet:deposit", Wallet, body=body, repeatable=True)


def dead_letters(*, limit: int | None = None) -> Call[Document]:
    """Messages that nobody could work on, in no order."""
    return _look("/dead-letters", Document, limit=limit)


def redrive(job_id: str, *, user: str | None = None) -> Call[Run]:
    """Run a dead run again, as a new one, and take its letters away. Asked twice, it is the same new run."""
    body = {"user_id": user} if user else None
    return _post(f"/dead-letters/{segment(job_id)}:redrive", Run, body=body, repeatable=True)


def discard(letter_id: str) -> Call[Document]:
    """Delete the letters of a run, or one that names no run."""
    return _post(f"/dead-letters/{segment(letter_id)}:discard", Document, repeatable=False)


def make_schedule(workspace: str, schedule: Document) -> Call[Document]:
    """A schedule: `user_id`, `workflow_id`, `cron`, and perhaps `input`."""
    return _post(f"/workspaces/{segment(workspace)}/schedules", Document, body=schedule, repeatable=False)


def schedules(workspace: str) -> Call[Document]:
    """All of a workspace."""
    return _look(f"/workspaces/{segment(workspace)}/schedules", Document)


def pause_schedule(schedule_id: str) -> Call[Document]:
    """Start nothing until it is resumed."""
    return _post(f"/schedules/{segment(schedule_id)}:pause", Document, repeatable=True)


def resume_schedule(schedule_id: str) -> Call[Document]:
    """Go on with its next time from now."""
    return _post(f"/schedules/{segment(schedule_id)}:resume", Document, repeatable=True)


def remove_schedule(schedule_id: str) -> Call[Document | None]:
    """Forget it; the runs it started go on."""
    return _remove(f"/schedules/{segment(schedule_id)}")


def make_hook(workspace: str, hook: Document) -> Call[Document]:
    """A hook: `user_id`, `workflow_id`, and perhaps `input`. Its secret is in this answer and no other."""
    return _post(f"/workspaces/{segment(workspace)}/hooks", Document, body=hook, repeatable=False)


def hooks(workspace: str) -> Call[Document]:
    """All of a workspace, without their secrets."""
    return _look(f"/workspaces/{segment(workspace)}/hooks", Document)


def remove_hook(hook_id: str) -> Call[Document | None]:
    """Forget it; whoever calls it from now on is a stranger."""
    return _remove(f"/hooks/{segment(hook_id)}")


def _look(path: str, answer: type[T], **params: Param) -> Call[T]:
    return Call(method="GET", path=_HOME + path, answer=answer, repeatable=True, params=given(**params))


def _post(path: str, answer: type[T], *, body: Document | None = None, repeatable: bool) -> Call[T]:
    encoded = None if body is None else msgspec.json.encode(body)
    return Call(method="POST", path=_HOME + path, answer=answer, repeatable=repeatable, body=encoded)


def _remove(path: str) -> Call[Document | None]:
    answer: Any = Document | None
    return Call(method="DELETE", path=_HOME + path, answer=answer, repeatable=False)
