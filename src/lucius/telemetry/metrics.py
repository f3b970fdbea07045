"""All metrics of one process, in a registry of their own.

State: plain counts (see `counts`) and gauge sources. Feeding is synchronous and cheap, one thread
per family: `observe_commit`, `observe_reply`, `observe_batch` and `observe_commit_seconds` belong to
whoever commits, the rest to the event loop. `exposition` asks the gauges and renders; it never fails
because of a source.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from lucius.ports.duties import Report, Round
from lucius.telemetry import catalogue as c
from lucius.telemetry.commits import Change, CommitCounts
from lucius.telemetry.counts import OTHER, Cap, Spread, Tally
from lucius.telemetry.gauges import Gauges, Source
from lucius.telemetry.lifebook_counts import RunCounts
from lucius.telemetry.process import ProcessFacts

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Metrics:
    """Counts what happens and shows it to Prometheus."""

    def __init__(
        self, *, clock: Callable[[], int], version: str, tenants: int = 0, patience: float = 2.0
    ) -> None:
        """`tenants` is how many tenants get a label of their own; `patience` seconds per gauge."""
        self._clock = clock
        self._rounds: dict[str, Round] = {}
        self._tallies = {metric.name: Tally(metric) for metric in c.COUNTERS}
        self._spreads = {metric.name: Spread(metric) for metric in c.HISTOGRAMS}
        self._gauges = Gauges(patience=patience, failed=self.failed)
        self._commits = CommitCounts(self._tallies, self._spreads, tenants=tenants)
        self.runs = RunCounts(self._tallies, self._spreads, workspaces=tenants)
        """What is counted of lifebook runs."""
        self._route = Cap(100)
        self._batch = self._spreads[c.LEDGER_BATCH.name]
        self._commit = self._spreads[c.LEDGER_COMMIT.name]
        self._requests = self._tallies[c.HTTP_REQUESTS.name]
        self._request_seconds = self._spreads[c.HTTP_SECONDS.name]
        self.observe_commit: Callable[[Iterable[Change]], None] = self._commits.observe
        """Count every event of these commits: `(job after, its events)` each."""
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(_Families(self._tallies, self._spreads, self._gauges))
        self.registry.register(ProcessFacts(clock=clock, version=version))

    def observe_batch(self, size: int) -> None:
        """One durable commit of `size` changes."""
        self._batch.observe((), size)

    def observe_commit_seconds(self, seconds: float) -> None:
        """How long one durable commit took; told by the ledger's writer."""
        self._commit.observe((), seconds)

    def observe_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """One answered HTTP request; `route` is the template, never the path."""
        label = self._route(route)
        self._requests.add((method if method in METHODS else OTHER, label, str(status)))
        self._request_seconds.observe((label,), seconds)

    def observe_reply(self, reply: str, verdict: str) -> None:
        """A reply that left no event behind, such as one for a job nobody knows."""
        self._tallies[c.REPLIES.name].add((reply, verdict))

    def observe_duty(self, duty: str, actions: Mapping[str, int]) -> None:
        """What one run of a background duty did."""
        tally = self._tallies[c.RECONCILER.name]
        for action, count in actions.items():
            if count:
                tally.add((duty, action), count)

    def observe_report(self, report: Report) -> None:
        """One round of a background duty; what it put right is counted, its figures are kept."""
        self._rounds[report.duty] = Round(at=self._clock(), report=report)
        self.observe_duty(report.duty, {"acted": report.acted})
        for detail, kind in c.DRIFT_KINDS.get(report.duty, {}).items():
            if found := report.details.get(detail, 0):
                self._tallies[c.DRIFT_REPAIRS.name].add((kind,), found)

    def rounds(self) -> Mapping[str, Round]:
        """The last round of each duty of this process, by its name."""
        return self._rounds

    def observe_start(self, outcome: str, seconds: float) -> None:
        """One start of a workflow: `started`, `existing` or `unavailable`."""
        self._tallies[c.WORKFLOW_STARTS.name].add((outcome,))
        self._spreads[c.TEMPORAL_SECONDS.name].observe(("start",), seconds)

    def observe_signal(self, signal: str, outcome: str, seconds: float) -> None:
        """One signal to a workflow: `delivered`, `no_workflow` or `unavailable`."""
        self._tallies[c.WORKFLOW_SIGNALS.name].add((signal, outcome))
        self._spreads[c.TEMPORAL_SECONDS.name].observe((signal,), seconds)

    def observe_invoker(self, call: str, outcome: str, seconds: float) -> None:
        """One call of the invoker."""
        self._tallies[c.INVOKER_CALLS.name].add((call, outcome))
        self._spreads[c.INVOKER_SECONDS.name].observe((call,), seconds)

    def observe_webhook(self, outcome: str, seconds: float) -> None:
        """One webhook delivery: `delivered`, `retried`, `refused` or `given_up`."""
        self._tallies[c.WEBHOOKS.name].add((outcome,))
        self._spreads[c.WEBHOOK_SECONDS.name].observe((), seconds)

    def observe_bus(self, call: str, outcome: str, messages: int) -> None:
        """Messages one call of the bus port moved, or failed to."""
        self._tallies[c.BUS_CALLS.name].add((call, outcome), messages)

    def failed(self, part: str) -> None:
        """A part of telemetry swallowed an error."""
        self._tallies[c.TELEMETRY_ERRORS.name].add((part,))

    def gauges(self, part: str, source: Source) -> None:
        """Serve gauges of the catalogue from a callable, plain or async, read at each scrape."""
        self._gauges.add(part, source)

    async def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """The answer of `/metrics` and its content type."""
        await self._gauges.refresh()
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type


class _Serves(Protocol):
    def family(self) -> Family: ...


class _Families(Collector):
    """Turns the plain counts into families at scrape time."""

    def __init__(
        self, tallies: Mapping[str, _Serves], spreads: Mapping[str, _Serves], gauges: Gauges
    ) -> None:
        self._parts = [*tallies.values(), *spreads.values()]
        self._gauges = gauges

    def describe(self) -> Iterable[Family]:
        return ()

    def collect(self) -> Iterable[Family]:
        for part in self._parts:
            yield part.family()
        yield from self._gauges.families()
