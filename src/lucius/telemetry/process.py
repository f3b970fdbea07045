"""Small facts about this process, read when somebody scrapes. What the system does not tell is left out."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from lucius.telemetry.catalogue import PROCESS

_PROC = Path("/proc/self")


def resident_bytes() -> int | None:
    """Memory in use now; without /proc the most there ever was; None where nobody tells."""
    try:
        return int((_PROC / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        pass
    try:
        import resource  # noqa: PLC0415 not on every system
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # the unit differs by system


def cpu_seconds() -> float:
    """User and system time since the start."""
    times = os.times()
    return times.user + times.system


def open_files() -> int | None:
    """Open file descriptors, or None where nobody counts them."""
    try:
        return len(os.listdir(_PROC / "fd"))  # noqa: PTH208 iterdir builds a Path for each of thousands
    except OSError:
        return None


class ProcessFacts(Collector):
    """Build, uptime, memory, CPU and descriptors."""

    def __init__(self, *, clock: Callable[[], int], version: str) -> None:
        self._clock = clock
        self._started_at = clock()
        self._version = version

    def describe(self) -> Iterable[Metric]:
        """Nothing to check at registration."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """What a scrape sees."""
        build, uptime, memory, cpu, files = PROCESS
        info = GaugeMetricFamily(build.name, build.help, labels=build.labels)
        info.add_metric([self._version, platform.python_version()], 1)
        yield info
        yield GaugeMetricFamily(uptime.name, uptime.help, value=(self._clock() - self._started_at) / 1000)
        resident = resident_bytes()
        if resident is not None:
            yield GaugeMetricFamily(memory.name, memory.help, value=resident)
        yield CounterMetricFamily(cpu.name, cpu.help, value=cpu_seconds())
        count = open_files()
        if count is not None:
            yield GaugeMetricFamily(files.name, files.help, value=count)
