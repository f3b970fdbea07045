"""What runs below Temporal's client in the worker's process: its numbers, and its log lines.

Numbers are polls, slots, cache, latencies of tasks. Lines are few: warnings of what goes wrong with
workflows, as JSON where ours are JSON. That Temporal is away we say ourselves.
"""

from __future__ import annotations

from temporalio.runtime import LoggingConfig, LoggingFormat, PrometheusConfig, Runtime, TelemetryConfig

from lucius.errors import Invalid

FILTER = "error,temporalio_sdk_core=warn,temporalio_sdk_core::worker::heartbeat=error"
"""What of its lines is written. It beats once a minute, and warns whenever nobody listens."""


def sdk_runtime(address: str | None, *, json: bool) -> Runtime:
    """A runtime that serves its numbers at `http://ADDRESS/metrics`; None: nowhere.

    A process has one of these at most: it listens until the process ends. `Invalid` when it cannot.
    """
    lines = LoggingConfig(filter=FILTER, format=LoggingFormat.JSON if json else LoggingFormat.COMPACT)
    if address is None:
        return Runtime(telemetry=TelemetryConfig(logging=lines))
    config = PrometheusConfig(
        bind_address=address, counters_total_suffix=True, unit_suffix=True, durations_as_seconds=True
    )
    try:
        return Runtime(telemetry=TelemetryConfig(logging=lines, metrics=config))
    except (RuntimeError, ValueError) as error:
        message = f"Temporal's metrics cannot be served at {address}: {error}."
        raise Invalid(message, code="BAD_TEMPORAL_METRICS_ADDRESS") from error
