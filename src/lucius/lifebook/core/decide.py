"""The only state change: `decide(run, command, now, policy) -> Decision | Refusal`. Total and pure.

A `Decision` without a change (`run` is the one that was given) means that the command has happened already.
A decision that ends a run settles its wallet and makes its one event: all three are one write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from lucius.lifebook.core import commands as cmd
from lucius.lifebook.core.events import RunEvent, event_of
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.core.run import Lock, Run, is_leftover
from lucius.lifebook.core.states import TRANSITIONS, Status
from lucius.lifebook.core.wallet import Settlement

MAX_CODE, MAX_MESSAGE = 64, 512
_replace = msgspec.structs.replace


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a run."""

    run: Run
    settlement: Settlement | None = None
    event: RunEvent | None = None


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a command has no effect."""

    code: str
    message: str
    until: int | None = None
    """When the same command may pass; None: never."""


Answer = Decision | Refusal


def decide(run: Run, command: cmd.AnyCommand, now: int, policy: Policy) -> Answer:
    """What the command does to the run. A clock that steps back never takes a run back in time."""
    now = max(now, run.updated_at)
    if run.terminal and not isinstance(command, cmd.Sent):
        return Refusal(code="RUN_ENDED", message=f"The run {run.job_id} is {run.status} and stays so")
    answer = _RULES[type(command)](run, command, now, policy)
    if isinstance(answer, Decision) and answer.run is not run:
        return _written(run, answer.run, command, now, policy)
    return answer


def _written(before: Run, after: Run, command: cmd.AnyCommand, now: int, policy: Policy) -> Answer:
    """The decision as it is stored: checked against the table, stamped, and settled if it ends the run."""
    kind = str(type(command).__struct_config__.tag)
    if (before.status, after.status) not in TRANSITIONS[kind]:
        return Refusal(
            code="ILLEGAL_TRANSITION",
            message=f"{kind} cannot take the run {before.job_id} from {before.status} to {after.status}",
        )
    after = _replace(after, updated_at=now, version=before.version + 1)
    if not after.terminal:
        return Decision(run=_replace(after, due_at=due_at(after, now, policy)))
    ended = _replace(
        after,
        completed_at=now,
        ttl_at=now // 1000 + policy.retention_seconds,
        credits_reserved=0,
        lock=None,
        next_attempt_at=None,
        due_at=None,
    )
    settlement = Settlement(
        workspace_id=before.workspace_id, released=before.credits_reserved, spent=ended.credits_spent
    )
    return Decision(run=ended, settlement=settlement, event=event_of(ended))


def due_at(run: Run, now: int, policy: Policy) -> int:
    """When the message of an open run counts as lost; of one that was just sent again, not at once."""
    if run.status is Status.RUNNING and run.lock is not None:
        return max(run.lock.expires_at, now) + policy.lock_patience
    if run.status is Status.FAILED and run.next_attempt_at is not None:
        return max(run.next_attempt_at, now) + policy.lock_patience
    return now + (policy.send_patience if run.status is Status.PENDING else policy.queue_patience)


def _sent(run: Run, _command: cmd.Sent, _now: int, _policy: Policy) -> Answer:
    # Whatever it is by now, the message was there before.
    return Decision(run=_replace(run, status=Status.QUEUED) if run.status is Status.PENDING else run)


def _resend(run: Run, _command: cmd.Resend, now: int, _policy: Policy) -> Answer:
    if run.due_at is not None and run.due_at > now:
        return Refusal(code="NOT_DUE", message=f"The run {run.job_id} is not overdue", until=run.due_at)
    return Decision(run=_replace(run, sends=run.sends + 1))


def _acquire(run: Run, command: cmd.Acquire, now: int, policy: Policy) -> Answer:
    lock, waits = run.lock, run.next_attempt_at
    lost = run.status is Status.RUNNING
    if lock is not None and lock.token == command.token:
        return Decision(run=run)  # the answer was lost, not the lock
    if lost and lock is not None and lock.expires_at > now:
        return Refusal(
            code="LOCKED", message=f"The run {run.job_id} is held by {lock.owner}", until=lock.expires_at
        )
    if waits is not None and waits > now:
        return Refusal(code="NOT_DUE", message=f"The run {run.job_id} waits for its next try", until=waits)
    crashes = run.crashes + 1 if lost else run.crashes
    if lost and crashes >= policy.poison_after:
        text = f"{crashes} workers were lost in step {run.step_cursor + 1}"
        return Decision(run=_dead(run, "POISON", text))
    if lost and run.attempts >= run.max_attempts:
        return Decision(run=_dead(run, "WORKER_LOST", f"the worker of attempt {run.attempts} was lost"))
    attempts = run.attempts if run.continued else run.attempts + 1
    return Decision(
        run=_replace(
            run,
            status=Status.RUNNING,
            attempts=attempts,
            continued=False,
            crashes=crashes,
            started_at=run.started_at if run.started_at is not None else now,
            next_attempt_at=None,
            lock=Lock(owner=command.owner, token=command.token, expires_at=now + policy.lease),
        )
    )


def _held(run: Run, token: str) -> Refusal | None:
    """None, or why the sender of a command does not hold the run."""
    if run.status is Status.RUNNING and run.lock is not None and run.lock.token == token:
        return None
    return Refusal(code="LOCK_LOST", message=f"The run {run.job_id} is no longer held by this worker")


def _beat(run: Run, command: cmd.Beat, now: int, policy: Policy) -> Answer:
    refused = _held(run, command.token)
    if refused is not None or run.lock is None:
        return refused or Decision(run=run)
    return Decision(run=_replace(run, lock=_replace(run.lock, expires_at=now + policy.lease)))


def _checkpoint(run: Run, command: cmd.Checkpoint, now: int, policy: Policy) -> Answer:
    refused = _held(run, command.token)
    if refused is not None or run.lock is None:
        return refused or Decision(run=run)
    if command.cursor == run.step_cursor - 1:
        return Decision(run=run)  # the holder has said so before, and did not hear the answer
    if command.cursor != run.step_cursor:
        text = f"Step {command.cursor} of the run {run.job_id} is not next: {run.step_cursor} is"
        return Refusal(code="CURSOR_MOVED", message=text)
    step = run.steps[command.cursor]
    spent = min(max(command.credits, 0), step.credits)
    artifacts = run.artifacts if command.artifact is None else run.artifacts | {step.name: command.artifact}
    done = run.step_cursor + 1
    return Decision(
        run=_replace(
            run,
            status=Status.COMPLETED if done == run.steps_total else Status.RUNNING,
            step_cursor=done,
            credits_spent=run.credits_spent + spent,
            artifacts=artifacts,
            crashes=0,
            last_error_code=None if done == run.steps_total else run.last_error_code,
            last_error_message=None if done == run.steps_total else run.last_error_message,
            lock=_replace(run.lock, expires_at=now + policy.lease),
        )
    )


def _fail(run: Run, command: cmd.Fail, now: int, policy: Policy) -> Answer:
    refused = _held(run, command.token)
    if refused is not None:
        return refused
    if command.poison or run.attempts >= run.max_attempts:
        return Decision(run=_dead(run, command.code, command.message))
    return Decision(
        run=_replace(
            run,
            status=Status.FAILED,
            last_error_code=command.code[:MAX_CODE],
            last_error_message=command.message[:MAX_MESSAGE],
            next_attempt_at=now + policy.wait(run.attempts, command.spread),
            lock=None,
        )
    )


def _hand_on(run: Run, command: cmd.HandOn, _now: int, _policy: Policy) -> Answer:
    refused = _held(run, command.token)
    if refused is not None:
        return refused
    return Decision(run=_replace(run, status=Status.QUEUED, continued=True, lock=None, sends=run.sends + 1))


def _cancel(run: Run, command: cmd.Cancel, _now: int, _policy: Policy) -> Answer:
    # At once, also while a worker is at it: its next write is refused, and its heartbeat tells it.
    return Decision(
        run=_replace(
            run,
            status=Status.CANCELED,
            last_error_code=command.code[:MAX_CODE],
            last_error_message=command.message[:MAX_MESSAGE] or None,
        )
    )


def _bury(run: Run, command: cmd.Bury, now: int, _policy: Policy) -> Answer:
    if is_leftover(run, command.send_no):  # asked here, with the write: a newer one may just have been sent
        return Refusal(code="NEWER_MESSAGE", message=f"The run {run.job_id} has a newer message")
    if run.lock is not None and run.lock.expires_at > now:
        text = f"The run {run.job_id} is held by {run.lock.owner}, who may still end it"
        return Refusal(code="LOCKED", message=text, until=run.lock.expires_at)
    text = f"its message was received {command.receives} times without an end"
    return Decision(run=_dead(run, "RECEIVES_EXHAUSTED", text))


def _dead(run: Run, code: str, message: str) -> Run:
    return _replace(
        run,
        status=Status.DEAD,
        last_error_code=code[:MAX_CODE],
        last_error_message=message[:MAX_MESSAGE],
    )


_RULES: dict[type[cmd.Command], Callable[[Run, Any, int, Policy], Answer]] = {
    cmd.Sent: _sent,
    cmd.Resend: _resend,
    cmd.Acquire: _acquire,
    cmd.Beat: _beat,
    cmd.Checkpoint: _checkpoint,
    cmd.Fail: _fail,
    cmd.HandOn: _hand_on,
    cmd.Cancel: _cancel,
    cmd.Bury: _bury,
}
