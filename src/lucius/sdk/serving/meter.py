"""What a service counts, for Prometheus. Labels are few: step type, outcome, code."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.openmetrics.exposition import generate_latest

_SECONDS = (0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900)


class Meter:
    """The metrics of one service process."""

    def __init__(self, step_type: str) -> None:
        self.registry = CollectorRegistry()
        self._step_type = step_type
        self._directives = Counter(
            "lucius_service_directives",
            "Directives: new, repeated (its result was sent again), running, refused, given_back.",
            ("step_type", "outcome"),
            registry=self.registry,
        )
        self._results = Counter(
            "lucius_service_results",
            "Attempts by how they ended; lost: somebody else has the attempt now.",
            ("step_type", "status", "code"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "lucius_service_work_seconds",
            "How long execute() took.",
            ("step_type",),
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._beats = Counter(
            "lucius_service_heartbeats",
            "Heartbeats by what Lucius said; failed: it could not be reached.",
            ("step_type", "verdict"),
            registry=self.registry,
        )
        self._late = Counter(
            "lucius_service_heartbeats_late",
            "Heartbeats that left after more than two thirds of the lease: the process was too busy.",
            ("step_type",),
            registry=self.registry,
        )
        self._running = Gauge(
            "lucius_service_running", "Attempts being worked on.", ("step_type",), registry=self.registry
        )
        self._held = Gauge(
            "lucius_service_held",
            "Directives taken ahead that wait for a free place.",
            ("step_type",),
            registry=self.registry,
        )
        self._late.labels(step_type)
        self._time = self._seconds.labels(step_type)
        self._load = self._running.labels(step_type), self._held.labels(step_type)
        self.load(0, 0)

    def directive(self, outcome: str) -> None:
        """A directive came and this became of it."""
        self._directives.labels(self._step_type, outcome).inc()

    def result(self, status: str, code: str = "") -> None:
        """An attempt ended."""
        self._results.labels(self._step_type, status, code).inc()

    def worked(self, seconds: float) -> None:
        """`execute` returned or raised."""
        self._time.observe(seconds)

    def beat(self, verdict: str, *, late: bool) -> None:
        """A heartbeat was sent."""
        self._beats.labels(self._step_type, verdict).inc()
        if late:
            self._late.labels(self._step_type).inc()

    def load(self, running: int, held: int) -> None:
        """How much there is to do right now."""
        places, line = self._load
        places.set(running)
        line.set(held)

    def exposition(self) -> bytes:
        """The answer of `/metrics`, in OpenMetrics."""
        text: bytes = generate_latest(self.registry)  # type: ignore[no-untyped-call]
        return text
