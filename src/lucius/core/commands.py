"""What can be asked of a job."""

from __future__ import annotations

import msgspec

from lucius.core.job import Fault, StepResult


class Command(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Base of everything that can be asked of a job."""


class Reply(Command, frozen=True, kw_only=True):
    """Something a service says about one attempt."""

    step_id: str
    attempt_no: int
    lease_id: str


class Ack(Reply, frozen=True, kw_only=True):
    """The directive was picked up."""


class Heartbeat(Reply, frozen=True, kw_only=True):
    """The work goes on: extend the lease."""

    progress: float | None = None
    message: str | None = None


class Result(Reply, frozen=True, kw_only=True):
    """The work is over, one way or the other."""

    result: StepResult


class Published(Command, frozen=True, kw_only=True):
    """The bus has taken the directive of this attempt."""

    step_id: str
    attempt_no: int


class PublishFailed(Command, frozen=True, kw_only=True):
    """The bus did not take the directive of this attempt."""

    step_id: str
    attempt_no: int
    error: Fault


class Tick(Command, frozen=True, kw_only=True):
    """Time has passed: do what is due."""

    held: frozenset[str] = frozenset()
    """Steps whose directive a busy but healthy broker still holds unread: waiting is no failure."""


class Cancel(Command, frozen=True, kw_only=True):
    """Stop the job; with `force` do not wait for the step in flight."""

    force: bool = False
    reason: str | None = None


class GiveUp(Command, frozen=True, kw_only=True):
    """Whatever drove the job is gone for good: end it."""

    reason: str


class Pause(Command, frozen=True, kw_only=True):
    """Start nothing new."""


class Resume(Command, frozen=True, kw_only=True):
    """Go on after a pause."""
