"""Settings that are set and can do nothing: said at the start, so that nobody relies on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from lucius.runtime.settings import Settings

_TABLES = {
    "table_connection", "ledger_table", "idempotency_table", "jobs_table", "steps_table", "job_index_table",
    "inflight_table",
}  # fmt: skip
_SERVICE_BUS = {"servicebus_reply_prefix"}
_INVOKER = {"servicebus_reply_subscription"}
_SUBMITTING = {"max_attempts", "step_result_timeout_seconds"}
_DECIDES = {"temporal_enabled"}


def without_effect(settings: Settings, *, submits: bool = True) -> dict[str, list[str]]:
    """Why, and the variables it is true of. `submits`: whether jobs are submitted to this process."""
    given = {name for name in settings.model_fields_set if getattr(settings, name) is not None}
    idle = {
        "this version has no table backend": given & _TABLES,
        "this version has no Service Bus adapter": given & _SERVICE_BUS,
    }
    if not submits:
        idle["jobs take it along from the process they are submitted to"] = given & _SUBMITTING
    if settings.engine == "outbox":
        driving = {name for name in given if name.startswith(("temporal_", "invoker_"))} | (given & _INVOKER)
        idle["the engine is outbox"] = driving - _DECIDES
    elif settings.temporal_address is not None:
        idle["the Temporal server is not ours to start"] = given & {"temporal_ui_port"}
    return {why: sorted(f"LUCIUS_{name.upper()}" for name in names) for why, names in idle.items() if names}


def tell_idle(settings: Settings, *, submits: bool = True) -> None:
    """One line a reason."""
    for why, names in without_effect(settings, submits=submits).items():
        structlog.get_logger("lucius").warning("settings without effect", settings=names, reason=why)
