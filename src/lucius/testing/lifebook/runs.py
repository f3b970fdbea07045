"""Builders of runs: a new one, and one that was taken through commands the way `Changes` would."""

from __future__ import annotations

from itertools import count
from typing import Any, Final
from uuid import UUID

from lucius.lifebook.core import commands as cmd
from lucius.lifebook.core.decide import Decision, decide
from lucius.lifebook.core.keys import KeySpace, fingerprint, unique_id
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.core.run import Run, StepPlan
from lucius.lifebook.core.states import Status, TriggerType

NOW: Final = 1_769_508_120_000
"""When the suites play. Stores take times as arguments, so that it never passes by itself."""
POLICY: Final = Policy()
_numbers = count(1)


def job_id(number: int | None = None) -> str:
    """An id of the shape of a random UUID, of its own unless a number is given."""
    given = next(_numbers) if number is None else number
    return str(UUID(int=(given * 0x9E3779B97F4A7C15F39CC0605CEDC835) % 2**128, version=4))


def new_run(*, key: str | None = None, costs: tuple[int, ...] = (100, 200, 300), **more: Any) -> Run:
    """A pending run as `Create` makes it, one step for each of `costs`; `more` replaces fields."""
    own = str(more.pop("job_id", None) or job_id())
    workspace = str(more.pop("workspace_id", "acme"))
    at = int(more.pop("created_at", NOW))
    space, name = (KeySpace.OWN, own) if key is None else (KeySpace.CLIENT, key)
    given = more.pop("input", {"page": 1})
    fields: dict[str, Any] = {
        "job_id": own,
        "workspace_id": workspace,
        "user_id": "ada",
        "workflow_id": "nightly",
        "trigger_type": TriggerType.MANUAL,
        "status": Status.PENDING,
        "credits_estimate": sum(costs),
        "credits_reserved": sum(costs),
        "idempotency_key": name,
        "created_at": at,
        "updated_at": at,
        "steps": tuple(StepPlan(name=f"step-{at + 1}", credits=cost) for at, cost in enumerate(costs)),
        "input": given,
        "due_at": at + POLICY.send_patience,
        "trace_id": own.replace("-", ""),
        "fingerprint": fingerprint("nightly", TriggerType.MANUAL.value, given),
        "unique_id": unique_id(workspace, space, name),
    }
    return Run(**fields | more)


def decided(run: Run, command: cmd.AnyCommand, at: int | None = None) -> Decision:
    """What a command does to a run; it must not be refused."""
    answer = decide(run, command, run.updated_at + 1 if at is None else at, POLICY)
    assert isinstance(answer, Decision), answer
    return answer


def taken(run: Run, token: str = "token", at: int | None = None) -> Decision:  # noqa: S107 - names a lock
    """A worker takes the run."""
    return decided(run, cmd.Acquire(owner="worker-1", token=token), at)


def step_done(run: Run, *, cost: int | None = None, artifact: str | None = None) -> Decision:
    """Whoever holds the run has done the step at its cursor, for what was planned unless told otherwise."""
    assert run.lock is not None, f"nobody holds the run {run.job_id}"
    paid = run.steps[run.step_cursor].credits if cost is None else cost
    done = cmd.Checkpoint(token=run.lock.token, cursor=run.step_cursor, credits=paid, artifact=artifact)
    return decided(run, done)


def canceled(run: Run, at: int | None = None) -> Decision:
    """Somebody cancels the run."""
    return decided(run, cmd.Cancel(), at)
