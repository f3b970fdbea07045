"""Every metric Lucius serves, as data: the one list that code, docs and tests read."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["counter", "histogram", "gauge"]

FAST = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
SLOW = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
SIZES = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0)


class Metric(msgspec.Struct, frozen=True, kw_only=True):
    """One metric family: its name on the wire is `name`, counters add `_total`."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


def _counter(name: str, text: str, *labels: str) -> Metric:
    return Metric(name=f"lucius_{name}", kind="counter", help=text, labels=labels)


def _histogram(name: str, buckets: tuple[float, ...], text: str, *labels: str) -> Metric:
    return Metric(name=f"lucius_{name}", kind="histogram", help=text, labels=labels, buckets=buckets)


def _gauge(name: str, text: str, *labels: str) -> Metric:
    return Metric(name=f"lucius_{name}", kind="gauge", help=text, labels=labels)


JOBS_ACCEPTED = _counter("jobs_accepted", "Jobs made durable.", "request_type")
JOBS_FINISHED = _counter(
    "jobs_finished", "Jobs that became SUCCEEDED, FAILED_FINAL or CANCELLED.", "request_type", "outcome"
)
TENANT_JOBS = _counter(
    "tenant_jobs",
    "Jobs by tenant, accepted and by outcome; only with a tenant cap above 0, later tenants are `other`.",
    "tenant_id",
    "outcome",
)
JOB_SECONDS = _histogram("job_seconds", SLOW, "From accepted to terminal.", "request_type", "outcome")
STEP_SECONDS = _histogram(
    "step_seconds", SLOW, "From the attempt's commit to its end.", "step_type", "outcome"
)
DISPATCH_LAG = _histogram(
    "dispatch_lag_seconds", FAST, "From the attempt's commit to its directive on the bus."
)
ACK_LAG = _histogram("ack_lag_seconds", SLOW, "From the directive on the bus to its ACK.", "step_type")
RETRIES = _counter(
    "retries", "Retries by track: publish (same attempt), dispatch, execution.", "step_type", "track"
)
TIMEOUTS = _counter("timeouts", "Clocks that ran out: ack, lease, dispatch, job.", "clock")
REPLIES = _counter("replies", "Replies of services by kind and verdict.", "reply", "verdict")
EVENTS = _counter("events", "Committed events by type.", "type")
RECONCILER = _counter("reconciler_actions", "What background duties did.", "duty", "action")
LEDGER_BATCH = _histogram("ledger_batch_size", SIZES, "Commands decided in one commit.")
LEDGER_COMMIT = _histogram("ledger_commit_seconds", FAST, "Time one durable commit took.")
HTTP_REQUESTS = _counter("http_requests", "Answered requests by route template.", "method", "route", "status")
HTTP_SECONDS = _histogram("http_request_seconds", FAST, "Time to the last byte of the answer.", "route")
WEBHOOKS = _counter("webhook_deliveries", "Webhook deliveries by outcome.", "outcome")
WEBHOOK_SECONDS = _histogram("webhook_seconds", FAST, "Time one webhook delivery took.")
BUS_CALLS = _counter("bus_messages", "Messages through the bus port by call.", "call", "outcome")
WORKFLOW_STARTS = _counter(
    "workflow_starts", "Starts of workflows: started, existing (it ran already), unavailable.", "outcome"
)
WORKFLOW_SIGNALS = _counter(
    "workflow_signals",
    "Signals to workflows: delivered, no_workflow (none is open), unavailable.",
    "signal",
    "outcome",
)
TEMPORAL_SECONDS = _histogram("temporal_call_seconds", FAST, "Time one call to Temporal took.", "call")
INVOKER_CALLS = _counter(
    "invoker_calls",
    "Calls of the invoker: ok, refused (as asked, it cannot be), unavailable (asked again later), failed.",
    "call",
    "outcome",
)
INVOKER_SECONDS = _histogram("invoker_call_seconds", FAST, "Time one call of the invoker took.", "call")
DRIFT_REPAIRS = _counter(
    "drift_repairs",
    "Differences between rows and workflows put right: lost_start, nudged, closed, left_open.",
    "kind",
)
LIFEBOOK_CREATED = _counter(
    "lifebook_runs_created",
    "Creations of lifebook runs: fresh, or replayed (the key had its run already).",
    "workflow_id",
    "outcome",
)
LIFEBOOK_MOVES = _counter("lifebook_transitions", "Lifebook runs that came to a status.", "status")
LIFEBOOK_WORKSPACES = _counter(
    "lifebook_workspace_runs",
    "Lifebook runs by workspace and status; only with a tenant cap above 0, later workspaces are `other`.",
    "workspace_id",
    "status",
)
LIFEBOOK_FAILURES = _counter(
    "lifebook_attempts_failed",
    "Attempts of lifebook runs that failed, by code; WORKER_LOST: nobody said why.",
    "code",
)
LIFEBOOK_REFUSALS = _counter(
    "lifebook_refused", "Commands to lifebook runs that had no effect, by kind and reason.", "command", "code"
)
LIFEBOOK_AGAIN = _counter(
    "lifebook_messages_again",
    "Further messages of lifebook runs: overdue (the sweeper's), continued (handed on by a worker).",
    "reason",
)
LIFEBOOK_BEATS_MISSED = _counter(
    "lifebook_heartbeats_missed", "Heartbeats of workers that store or queue did not take."
)
LIFEBOOK_CREDITS = _counter("lifebook_credits_spent", "Credits that steps of lifebook runs have cost.")
TELEMETRY_ERRORS = _counter("telemetry_errors", "Errors telemetry swallowed, by part.", "part")

LIFEBOOK_RUN_SECONDS = _histogram(
    "lifebook_run_seconds", SLOW, "From the creation of a lifebook run to its end.", "workflow_id", "status"
)
LIFEBOOK_STEP_SECONDS = _histogram(
    "lifebook_step_seconds",
    SLOW,
    "Time one step of a lifebook run took: done, failed, stopped (canceled, lost or handed on).",
    "workflow_id",
    "outcome",
)
LIFEBOOK_WAIT_SECONDS = _histogram(
    "lifebook_wait_seconds", SLOW, "From the message of a lifebook run to the first worker that took it."
)

OUTBOX_BACKLOG = _gauge("outbox_backlog", "Directives committed and not yet published.")
DUE_BACKLOG = _gauge("due_backlog", "Jobs whose due time has passed.")
DUE_LAG = _gauge("due_lag_seconds", "How long the oldest due job has been waiting.")
JOBS_OPEN = _gauge("jobs_open", "Jobs that are not terminal, by state.", "state")
DEAD_LETTERS = _gauge("dead_letters", "Dead letters waiting for somebody.")
IN_FLIGHT = _gauge("jobs_in_flight", "Jobs that hold a slot.")
IN_FLIGHT_LIMIT = _gauge("jobs_in_flight_limit", "Slots there are.")
BUS_BACKLOG = _gauge("bus_backlog", "Messages waiting on the bus.", "subscription")
WEBHOOK_BACKLOG = _gauge("webhook_backlog", "Webhook deliveries waiting.")
TEMPORAL_UP = _gauge("temporal_up", "1 while Temporal answers, else 0.")
TEMPORAL_BACKLOG = _gauge("temporal_backlog", "Tasks that wait for a temporal worker, about.", "kind")
TEMPORAL_WORKERS = _gauge(
    "temporal_workers", "Temporal workers that asked for tasks in the last five minutes.", "kind"
)
LIFEBOOK_QUEUE = _gauge(
    "lifebook_queue_messages", "Messages in the queue of lifebook runs: visible, hidden.", "state"
)
LIFEBOOK_DEAD_LETTERS = _gauge("lifebook_dead_letters", "Dead letters of lifebook runs, about.")
LIFEBOOK_OVERDUE = _gauge(
    "lifebook_overdue_seconds", "How long the most overdue lifebook run waits for the sweeper to wake it."
)
LIFEBOOK_UP = _gauge("lifebook_up", "1 while store and queue of lifebook runs answer, else 0.")

COUNTERS = (
    JOBS_ACCEPTED,
    JOBS_FINISHED,
    TENANT_JOBS,
    RETRIES,
    TIMEOUTS,
    REPLIES,
    EVENTS,
    RECONCILER,
    HTTP_REQUESTS,
    WEBHOOKS,
    BUS_CALLS,
    WORKFLOW_STARTS,
    WORKFLOW_SIGNALS,
    INVOKER_CALLS,
    DRIFT_REPAIRS,
    LIFEBOOK_CREATED,
    LIFEBOOK_MOVES,
    LIFEBOOK_WORKSPACES,
    LIFEBOOK_FAILURES,
    LIFEBOOK_REFUSALS,
    LIFEBOOK_AGAIN,
    LIFEBOOK_BEATS_MISSED,
    LIFEBOOK_CREDITS,
    TELEMETRY_ERRORS,
)
HISTOGRAMS = (
    JOB_SECONDS,
    STEP_SECONDS,
    DISPATCH_LAG,
    ACK_LAG,
    LEDGER_BATCH,
    LEDGER_COMMIT,
    HTTP_SECONDS,
    WEBHOOK_SECONDS,
    TEMPORAL_SECONDS,
    INVOKER_SECONDS,
    LIFEBOOK_RUN_SECONDS,
    LIFEBOOK_STEP_SECONDS,
    LIFEBOOK_WAIT_SECONDS,
)
GAUGES = (
    OUTBOX_BACKLOG,
    DUE_BACKLOG,
    DUE_LAG,
    JOBS_OPEN,
    DEAD_LETTERS,
    IN_FLIGHT,
    IN_FLIGHT_LIMIT,
    BUS_BACKLOG,
    WEBHOOK_BACKLOG,
    TEMPORAL_UP,
    TEMPORAL_BACKLOG,
    TEMPORAL_WORKERS,
    LIFEBOOK_QUEUE,
    LIFEBOOK_DEAD_LETTERS,
    LIFEBOOK_OVERDUE,
    LIFEBOOK_UP,
)
PROCESS = (
    Metric(
        name="lucius_build_info",
        kind="gauge",
        help="Always 1; the labels say what runs.",
        labels=("version", "python"),
    ),
    _gauge("uptime_seconds", "Since this process opened its telemetry."),
    Metric(name="process_resident_memory_bytes", kind="gauge", help="Resident memory."),
    Metric(name="process_cpu_seconds", kind="counter", help="User and system CPU time."),
    Metric(name="process_open_fds", kind="gauge", help="Open file descriptors (where /proc tells)."),
)
METRICS = COUNTERS + HISTOGRAMS + GAUGES + PROCESS

#: What the figures of drift rounds mean, by duty: the rest of their figures is what they looked at.
DRIFT_KINDS = {
    "lost-starts": {"started": "lost_start"},
    "drift-overdue": {"nudged": "nudged", "closed": "closed"},
    "drift-workflows": {"left_open": "left_open", "closed": "closed"},
}


def table() -> str:
    """The catalogue as a Markdown table: docs/observability.md carries it between two markers."""
    rows = ["| metric | kind | labels | meaning |", "|---|---|---|---|"]
    for metric in METRICS:
        name = f"{metric.name}_total" if metric.kind == "counter" else metric.name
        labels = ", ".join(f"`{label}`" for label in metric.labels) or "–"
        rows.append(f"| `{name}` | {metric.kind} | {labels} | {metric.help} |")
    return "\n".join(rows)
