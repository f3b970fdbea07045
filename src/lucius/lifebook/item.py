"""A run as an item, and an event as analytics reads it: the contract's names and types, ours beside them.

    contract   times are ISO-8601 with milliseconds and `Z`, `ttl_at` is seconds since the epoch, credits are
               numbers of credits (`Decimal`), everything that counts is an integer
    ours       `version`, `steps` (a list of maps: name, credits), `artifacts` (a map), `lock_…`, `due_at` and
               what else `core/run.py` explains; `input` is a text of JSON, for DynamoDB knows no floats

What is absent in the run is absent in the item, never null. `run_of(item_of(run)) == run`, always. An item
from somebody who knows the contract only is read too, with what can be told from it (version 0: nobody of
ours wrote it yet). One that is not a run raises `Broken`.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

from lucius.errors import Broken, Invalid
from lucius.lifebook.core.events import RunEvent
from lucius.lifebook.core.keys import KeySpace, unique_id
from lucius.lifebook.core.run import MOST_ATTEMPTS, Lock, Run, StepPlan
from lucius.lifebook.core.states import TERMINAL, Status, TriggerType
from lucius.lifebook.core.wallet import PER_CREDIT, hundredths_of
from lucius.wire.timestamps import iso, parse_iso

UNWRITTEN = 0
"""The version of an item that nobody of ours wrote."""

_SAME = (
    "job_id", "workspace_id", "user_id", "workflow_id", "attempts", "max_attempts", "step_cursor",
    "steps_total", "idempotency_key", "last_error_code", "last_error_message", "ttl_at",
    "version", "continued", "crashes", "sends", "due_at", "trace_id", "fingerprint", "unique_id", "retry_of",
)  # fmt: skip
_CREDITS = ("credits_estimate", "credits_reserved", "credits_spent")
_TIMES = ("created_at", "updated_at", "started_at", "completed_at")


def item_of(run: Run) -> dict[str, Any]:
    """The item of a run."""
    item: dict[str, Any] = {name: getattr(run, name) for name in _SAME}
    item |= {name: credits_of(getattr(run, name)) for name in _CREDITS}
    item |= {name: _iso(getattr(run, name)) for name in _TIMES}
    item |= {
        "trigger_type": run.trigger_type.value,
        "status": run.status.value,
        "steps": [{"name": step.name, "credits": credits_of(step.credits)} for step in run.steps],
        "input": msgspec.json.encode(run.input).decode(),
        "artifacts": dict(run.artifacts),
        "next_attempt_at": _iso(run.next_attempt_at),
    }
    if run.lock is not None:
        item |= {
            "lock_owner": run.lock.owner,
            "lock_token": run.lock.token,
            "lock_expires_at": _iso(run.lock.expires_at),
        }
    return {name: value for name, value in item.items() if value is not None}


def run_of(item: Mapping[str, Any]) -> Run:
    """The run of an item; raises `Broken` if it is none."""
    try:
        return _read(item)
    except (KeyError, ValueError, TypeError, ArithmeticError, Invalid) as error:
        named = str(item.get("job_id"))[:64]
        raise Broken(f"The item {named} is not a run: {error!r}", code="BROKEN_ITEM") from error


def credits_of(hundredths: int) -> Decimal:
    """Hundredths as a number of credits."""
    return Decimal(hundredths).scaleb(-2)


def _read(item: Mapping[str, Any]) -> Run:
    job_id, workspace_id = str(item["job_id"]), str(item["workspace_id"])
    status, updated_at = Status(item["status"]), parse_iso(item["updated_at"])
    estimate = hundredths_of(item["credits_estimate"])
    open_since = None if status in TERMINAL else updated_at
    key = str(item.get("idempotency_key", job_id))
    return Run(
        job_id=job_id,
        workspace_id=workspace_id,
        user_id=str(item["user_id"]),
        workflow_id=str(item["workflow_id"]),
        trigger_type=TriggerType(item["trigger_type"]),
        status=status,
        attempts=int(item.get("attempts", 0)),
        max_attempts=int(item.get("max_attempts", MOST_ATTEMPTS)),
        step_cursor=int(item.get("step_cursor", 0)),
        credits_estimate=estimate,
        credits_reserved=hundredths_of(item.get("credits_reserved", 0)),
        credits_spent=hundredths_of(item.get("credits_spent", 0)),
        idempotency_key=key,
        last_error_code=item.get("last_error_code"),
        last_error_message=item.get("last_error_message"),
        created_at=parse_iso(item["created_at"]),
        updated_at=updated_at,
        started_at=_time(item, "started_at"),
        completed_at=_time(item, "completed_at"),
        ttl_at=_whole(item, "ttl_at"),
        version=int(item.get("version", UNWRITTEN)),
        steps=_steps(item, estimate),
        input=msgspec.json.decode(item.get("input", "{}"), type=dict[str, Any]),
        artifacts={str(name): str(value) for name, value in item.get("artifacts", {}).items()},
        lock=_lock(item),
        next_attempt_at=_time(item, "next_attempt_at"),
        continued=bool(item.get("continued", False)),
        crashes=int(item.get("crashes", 0)),
        sends=int(item.get("sends", 1)),
        due_at=_whole(item, "due_at") if "version" in item else open_since,
        trace_id=str(item.get("trace_id", job_id.replace("-", ""))),
        fingerprint=str(item.get("fingerprint", "")),
        unique_id=str(item.get("unique_id", unique_id(workspace_id, KeySpace.CLIENT, key))),
        retry_of=item.get("retry_of"),
    )


def _steps(item: Mapping[str, Any], estimate: int) -> tuple[StepPlan, ...]:
    """The plan; made up for an item without one, so that the credits of all steps are the estimate."""
    if "steps" in item:
        return tuple(
            StepPlan(name=str(step["name"]), credits=hundredths_of(step["credits"])) for step in item["steps"]
        )
    total = int(item["steps_total"])
    return tuple(
        StepPlan(
            name=f"step-{index + 1}", credits=estimate * (index + 1) // total - estimate * index // total
        )
        for index in range(total)
    )


def _lock(item: Mapping[str, Any]) -> Lock | None:
    expires_at = _time(item, "lock_expires_at")
    if expires_at is None:
        return None
    return Lock(owner=str(item["lock_owner"]), token=str(item["lock_token"]), expires_at=expires_at)


def _iso(ms: int | None) -> str | None:
    return None if ms is None else iso(ms)


def _time(item: Mapping[str, Any], name: str) -> int | None:
    text = item.get(name)
    return None if text is None else parse_iso(text)


def _whole(item: Mapping[str, Any], name: str) -> int | None:
    number = item.get(name)
    return None if number is None else int(number)


def detail_of(event: RunEvent) -> dict[str, Any]:
    """An event as analytics reads it, from a bus or a file: ISO-8601 times, credits as a number, no nulls."""
    detail: dict[str, Any] = msgspec.to_builtins(event)
    whole, rest = divmod(event.credits_spent, PER_CREDIT)
    detail["credits_spent"] = event.credits_spent / PER_CREDIT if rest else whole
    detail |= {name: iso(at) for name in _TIMES if (at := detail.get(name)) is not None}
    return {name: value for name, value in detail.items() if value is not None}
