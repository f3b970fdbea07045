"""Plain numbers that become Prometheus families only when somebody scrapes.

State: a dict from label values to a number (`Tally`) or to bucket counts and a sum (`Spread`).
Adding costs a dict access. Each family has one writing thread; a scrape copies the dict in one
step and may run in another thread. Counts only grow until the process ends.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

from lucius.telemetry.catalogue import Metric

Labels = tuple[str, ...]
OTHER = "other"


class Tally:
    """A counter by label values."""

    __slots__ = ("counts", "metric")

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.counts: dict[Labels, float] = {}

    def add(self, labels: Labels, amount: float = 1) -> None:
        """Count `amount` more."""
        counts = self.counts
        counts[labels] = counts.get(labels, 0) + amount

    def family(self) -> CounterMetricFamily:
        """What a scrape sees."""
        family = CounterMetricFamily(self.metric.name, self.metric.help, labels=self.metric.labels)
        for labels, count in list(self.counts.items()):
            family.add_metric(labels, count)
        return family


class Spread:
    """A histogram by label values: one list of bucket counts (the last is +Inf) and a sum each."""

    __slots__ = ("bounds", "metric", "rows", "sums")

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.bounds = metric.buckets
        self.rows: dict[Labels, list[int]] = {}
        self.sums: dict[Labels, float] = {}

    def observe(self, labels: Labels, value: float) -> None:
        """Count one value."""
        row = self.rows.get(labels)
        if row is None:
            row = self.rows[labels] = [0] * (len(self.bounds) + 1)
            self.sums[labels] = 0.0
        row[bisect_left(self.bounds, value)] += 1
        self.sums[labels] += value

    def family(self) -> HistogramMetricFamily:
        """What a scrape sees: buckets added up, as the format wants."""
        family = HistogramMetricFamily(self.metric.name, self.metric.help, labels=self.metric.labels)
        edges = [*(str(bound) for bound in self.bounds), "+Inf"]
        for labels, row in list(self.rows.items()):
            buckets = list(zip(edges, accumulate(row), strict=True))
            family.add_metric(labels, buckets, sum_value=self.sums.get(labels, 0.0))
        return family


class Cap:
    """Lets the first `limit` values through and calls every later one `other`.

    First come, not busiest: a series that changed owner between two scrapes would look like a
    counter that went backwards.
    """

    __slots__ = ("known", "limit")

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.known: dict[str, str] = {}

    def __call__(self, value: str) -> str:
        """The label for this value."""
        label = self.known.get(value)
        if label is not None:
            return label
        if len(self.known) >= self.limit:
            return OTHER
        self.known[value] = value
        return value
