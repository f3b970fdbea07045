"""The numbers of Temporal's own SDK: polls, slots, cache, latencies of tasks. For the worker's process."""

from __future__ import annotations

from temporalio.runtime import PrometheusConfig, Runtime, TelemetryConfig

from lucius.errors import Invalid


def metrics_runtime(address: str | None) -> Runtime | None:
    """A runtime that serves them at `http://ADDRESS/metrics`; None: nobody asked, the usual one will do.

    A process has one of these at most: it listens until the process ends. `Invalid` when it cannot.
    """
    if address is None:
        return None
    config = PrometheusConfig(
        bind_address=address, counters_total_suffix=True, unit_suffix=True, durations_as_seconds=True
    )
    try:
        return Runtime(telemetry=TelemetryConfig(metrics=config))
    except (RuntimeError, ValueError) as error:
        message = f"Temporal's metrics cannot be served at {address}: {error}."
        raise Invalid(message, code="BAD_TEMPORAL_METRICS_ADDRESS") from error
