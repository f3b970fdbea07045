"""A Lucius that says where its CPU time goes.

`python -m bench.sampler FILE up …` is `lucius up …` with a timer that interrupts it after every millisecond
of CPU time (SIGPROF) and notes which function is running. SIGUSR1 forgets what was seen so far, so that the
start does not count. At the end FILE holds the counts: by area, and by function within its area.
"""

from __future__ import annotations

import atexit
import signal
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

import msgspec

INTERVAL = 0.001
#: The first part of a path that fits names the area. Innermost frames are looked at first; what is in no
#: area (the standard library, msgspec, …) counts for whoever called it.
AREAS = (
    ("lucius/adapters/ledgers/sqlite/writer", "SQLite statements"),
    ("lucius/adapters/ledgers/sqlite/reader", "ledger: reading"),
    ("lucius/adapters/ledgers/sqlite/rows", "ledger: rows as JSON"),
    ("lucius/adapters/ledgers/sqlite/batch", "ledger: rows as JSON"),
    ("lucius/adapters/ledgers", "ledger: batches and answers"),
    ("lucius/adapters/keyrings", "who is asking"),
    ("lucius/dispatch/directives", "directives and their tokens"),
    ("lucius/security/callback", "directives and their tokens"),
    ("lucius/runtime/tokens", "directives and their tokens"),
    ("lucius/dispatch/relay", "relay"),
    ("lucius/core/fairness", "relay"),
    ("lucius/dispatch", "engine and intake"),
    ("lucius/engines", "engine and intake"),
    ("lucius/adapters", "bus"),
    ("lucius/services", "echo service"),
    ("lucius/core/decide", "deciding"),
    ("lucius/core/evolve", "deciding"),
    ("lucius/core/timing", "deciding"),
    ("lucius/telemetry", "telemetry"),
    ("lucius/security", "who is asking"),
    ("lucius/entrypoints", "HTTP: our side"),
    ("lucius/usecases", "checking the command"),
    ("lucius/wire/envelope", "checking the command"),
    ("lucius/wire/strict_json", "checking the command"),
    ("lucius/core/refs", "checking the command"),
    ("lucius/core/uris", "checking the command"),
    ("lucius/core/payloads", "checking the command"),
    ("lucius/core/idempotency", "checking the command"),
    ("uvicorn", "HTTP: uvicorn"),
    ("lucius/runtime/lifecycle", "event loop and sockets"),
)


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """Samples by area, and by (area, function)."""

    areas: dict[str, int]
    functions: dict[str, int]


class Sampler:
    """Counts what runs."""

    def __init__(self) -> None:
        self.areas: Counter[str] = Counter()
        self.functions: Counter[str] = Counter()

    def sample(self, _: int, frame: FrameType | None) -> None:
        """The timer went off."""
        name = frame.f_code.co_name if frame is not None else ""
        while frame is not None:
            path = frame.f_code.co_filename
            for part, area in AREAS:
                if part in path:
                    self.areas[area] += 1
                    inside = frame.f_code.co_qualname
                    self.functions[
                        f"{area}: {inside}{'' if name == frame.f_code.co_name else f' > {name}'}"
                    ] += 1
                    return
            frame = frame.f_back
        self.areas["other"] += 1

    def forget(self, *_: object) -> None:
        """Start again."""
        self.areas.clear()
        self.functions.clear()


def main() -> None:
    """Sample, then be the command line."""
    target = Path(sys.argv.pop(1))
    sampler = Sampler()
    signal.signal(signal.SIGPROF, sampler.sample)
    signal.signal(signal.SIGUSR1, sampler.forget)
    signal.setitimer(signal.ITIMER_PROF, INTERVAL, INTERVAL)
    atexit.register(
        lambda: target.write_bytes(
            msgspec.json.encode(Profile(areas=dict(sampler.areas), functions=dict(sampler.functions)))
        )
    )
    from lucius.entrypoints.cli import main as command_line  # noqa: PLC0415  after the timer is set

    command_line()


if __name__ == "__main__":
    main()
