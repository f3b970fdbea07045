"""The only state change: `decide(job, command, now, chance) -> Decision`.

Total: every command has an answer in every state, including "no, because". The rules live in

    opening.py    a new job
    replies.py    what services say
    timers.py     what time brings
    control.py    what people ask
    progress.py   what follows from all of these: the next step, the end of the job
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lucius.core import commands as cmd
from lucius.core.decide.control import cancel, pause, resume
from lucius.core.decide.draft import Chance, Decision, Draft, Verdict
from lucius.core.decide.opening import open_job
from lucius.core.decide.replies import ack, heartbeat, result
from lucius.core.decide.timers import give_up, publish_failed, published, tick

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.core.job import Job

__all__ = ["Chance", "Decision", "Verdict", "decide", "open_job"]

_RULES: dict[type[cmd.Command], Callable[[Draft, Any], Verdict]] = {
    cmd.Ack: ack,
    cmd.Heartbeat: heartbeat,
    cmd.Result: result,
    cmd.Published: published,
    cmd.PublishFailed: publish_failed,
    cmd.Tick: tick,
    cmd.GiveUp: give_up,
    cmd.Cancel: cancel,
    cmd.Pause: pause,
    cmd.Resume: resume,
}


def decide(job: Job, command: cmd.Command, now: int, chance: Chance) -> Decision:
    """What the command does to the job. A clock that steps back never reorders a job's history."""
    draft = Draft(job, max(now, job.updated_at), chance)
    verdict = _RULES[type(command)](draft, command)
    return draft.decision(verdict)
