"""Durable submits a second, against FastAPI services that answer the same request and keep nothing."""

from __future__ import annotations

from contextlib import ExitStack

from bench.figures import ROUNDS, Figure, Run, at_least, compared, plain
from bench.load import Load, Spec, load
from bench.orders import submits
from bench.processes import Server, lucius, noop

PART = "submits"
REQUESTS = 6000
KINDS = ("typed", "raw", "socket")


def measure(run: Run) -> list[Figure]:
    """All servers stay up; each round asks every one of them."""
    rates: dict[str, list[float]] = {kind: [] for kind in ("lucius", *KINDS)}
    times: list[Load] = []
    with ExitStack() as stack:
        servers = {kind: stack.enter_context(noop(kind, run.home / kind)) for kind in KINDS}
        servers["lucius"] = stack.enter_context(lucius(run.home / "submits", services="none"))
        for number in range(ROUNDS + 1):
            run.tell(f"round {number} of {ROUNDS}: {REQUESTS} submits" if number else "warming up")
            for kind, server in servers.items():
                found = load(_spec(run, server, number), expect=202)
                if number:
                    rates[kind].append(found.rate)
                    if kind == "lucius":
                        times.append(found)
    ours = rates["lucius"]
    return [
        compared(
            PART,
            "durable submits",
            "req/s",
            ours,
            baseline="FastAPI no-op, pydantic body",
            against=rates["typed"],
            aim=at_least(0.5),
        ),
        compared(
            PART, "durable submits", "req/s", ours, baseline="FastAPI no-op, raw body", against=rates["raw"]
        ),
        plain(PART, "time of a submit under load, p99", "ms", [one.p99_ms for one in times]),
        plain(PART, "ceiling of the load generator", "req/s", rates["socket"]),
    ]  # fmt: skip


def _spec(run: Run, server: Server, number: int) -> Spec:
    count = REQUESTS if number else 500
    return Spec(
        port=server.port,
        requests=submits(server.port),
        count=count,
        connections=run.connections,
        first=number * REQUESTS,
    )
