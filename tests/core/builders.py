"""One-step jobs that stand where a row of the grid says, and the commands its columns name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lucius.core import commands as cmd
from lucius.core.job import Job
from lucius.core.timing import due_at
from lucius.testing.jobs import AWAY, HOUR, MINUTE, START, Story, done, lost, order, protocol, recipe

ONE = protocol(recipe("ocr"))
TIMED = protocol(recipe("ocr"), deadline=HOUR)


def queued() -> Story:
    """Accepted, its attempt made, nothing sent."""
    return Story(order(steps=ONE))


def delayed() -> Story:
    """Accepted for later."""
    return Story(order(steps=ONE, not_before=START + 10 * MINUTE))


def sent() -> Story:
    """The bus has the first attempt."""
    return queued().published()


def working() -> Story:
    """A service is at it."""
    return sent().acked()


def last_dispatch() -> Story:
    """Two attempts were never acknowledged; the third is sent."""
    return sent().tick().tick().published().tick().tick().published()


def last_execution() -> Story:
    """Two attempts failed; the third is made."""
    story = queued()
    for _ in range(2):
        story.published().acked().result(lost()).tick()
    return story


ROWS: dict[str, Callable[[], Story]] = {
    "Qp-": delayed,
    "Qd": queued,
    "Da": sent,
    "Da!": last_dispatch,
    "Dr": lambda: sent().tick(),
    "Dd": lambda: sent().tick().tick(),
    "Ii": working,
    "Ii!": lambda: last_execution().published().acked(),
    "Ir": lambda: working().tick(),
    "Ir*": lambda: working().result(lost()),
    "Id": lambda: working().tick().tick(),
    "Id!": last_execution,
    "Ia": lambda: working().tick().tick().published(),
    "Pa": lambda: sent().then(cmd.Pause()),
    "Pi": lambda: working().then(cmd.Pause()),
    "Pi!": lambda: last_execution().published().acked().then(cmd.Pause()),
    "Hp-": lambda: delayed().then(cmd.Pause()),
    "Hd": lambda: queued().then(cmd.Pause()),
    "Hr": lambda: sent().tick().then(cmd.Pause()),
    "Hr*": lambda: working().result(lost()).then(cmd.Pause()),
    "Ca": lambda: sent().then(cmd.Cancel()),
    "Ci": lambda: working().then(cmd.Cancel()),
    "Ss*": lambda: working().result(),
    "Ff*": lambda: working().result(lost(final=True)),
    "Ff": lambda: last_dispatch().tick(),
    "Fx-": lambda: Story(order(steps=TIMED, not_before=START + MINUTE)).then(cmd.Tick(), 3 * HOUR),
    "Xx": lambda: working().then(cmd.Cancel(force=True)),
    "Xx-": lambda: delayed().then(cmd.Cancel()),
    "Xs*": lambda: working().then(cmd.Cancel()).result(),
    "Xf*": lambda: working().then(cmd.Cancel()).result(lost(final=True)),
}

COLUMNS = (
    "ack", "beat", "done", "retry", "final", "stale", "sent", "unsent", "early", "due", "held", "cancel",
    "force", "pause", "resume", "gone",
)  # fmt: skip


def command(column: str, job: Job) -> tuple[cmd.Command, int]:
    """What a column asks of a one-step job, and when."""
    step = job.steps[0]
    number, lease = (step.attempt.attempt_no, step.attempt.lease_id) if step.attempt else (1, "nobody's")
    who: dict[str, Any] = {"step_id": step.step_id, "attempt_no": number, "lease_id": lease}
    soon = job.updated_at + 1
    due = due_at(job) or soon + HOUR
    asked: dict[str, tuple[cmd.Command, int]] = {
        "ack": (cmd.Ack(**who), soon),
        "beat": (cmd.Heartbeat(**who, progress=0.5, message="half"), soon),
        "done": (cmd.Result(**who, result=done()), soon),
        "retry": (cmd.Result(**who, result=lost()), soon),
        "final": (cmd.Result(**who, result=lost(final=True)), soon),
        "stale": (cmd.Result(**{**who, "lease_id": "another"}, result=done()), soon),
        "sent": (cmd.Published(step_id=step.step_id, attempt_no=number), soon),
        "unsent": (cmd.PublishFailed(step_id=step.step_id, attempt_no=number, error=AWAY), soon),
        "early": (cmd.Tick(), due - 1),
        "due": (cmd.Tick(), due),
        "held": (cmd.Tick(held=frozenset({step.step_id})), due),
        "cancel": (cmd.Cancel(reason="asked"), soon),
        "force": (cmd.Cancel(force=True), soon),
        "pause": (cmd.Pause(), soon),
        "resume": (cmd.Resume(), soon),
        "gone": (cmd.GiveUp(reason="closed"), soon),
    }
    return asked[column]
