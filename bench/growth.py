"""Whether a job costs more when many are stored: the same work on 1,000 and on 1,000,000 jobs.

Two servers, one on each ledger, are asked in turn. A client asks one request after the other; its time
is the one that nine of ten take longer than, which is least at the mercy of whatever else the machine does.
Everything is in the page cache. What the reconciler asks is measured on the file, with the reader it uses. A
ratio is the time with many over the time with few.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from contextlib import ExitStack
from urllib.parse import quote

from bench.figures import ROUNDS, Figure, Run, at_most, compared
from bench.fill import BYTES_PER_JOB, check, fill
from bench.jobs import run_jobs
from bench.load import Spec, load
from bench.orders import TENANTS, get, submits
from bench.processes import Server, lucius
from lucius.adapters.ledgers.sqlite.files import open_reader
from lucius.adapters.ledgers.sqlite.reader import Reader
from lucius.wire.timestamps import iso

PART = "growth"
FEW = 1000
START = "start until ready"
REQUESTS = 400
JOBS = 3000
BASELINE = f"{FEW:,} stored jobs"
Times = dict[str, dict[str, list[float]]]
Ask = Callable[[Server, list[str]], float]


def measure(run: Run) -> list[Figure]:
    """Fill both, then ask both."""
    _check_room(run)
    homes = {"few": run.home / "few", "many": run.home / "many"}
    ids = {}
    for (name, home), count in zip(homes.items(), (FEW, run.stored), strict=True):
        ids[name] = fill(home, count, run.home / f"patterns-{name}", run.tell)
        check(home, count, ids[name])
    times: Times = {}
    with ExitStack() as stack:
        servers = {name: stack.enter_context(lucius(home)) for name, home in homes.items()}
        for name, server in servers.items():
            _note(times, START, name, 1000 * server.ready_seconds)
            run_jobs(server, 500, run.connections, first=10**9)
        for number in range(1, ROUNDS + 1):
            run.tell(f"round {number} of {ROUNDS}: three-step jobs from end to end")
            for name, server in _in_turn(servers, number):
                ran = run_jobs(server, JOBS, run.connections, first=10**9 + number * JOBS)
                _note(times, "three-step job from end to end", name, 1000 / ran.rate)
                _note(times, "server CPU of a three-step job", name, ran.cpu_ms)
    with ExitStack() as stack:
        servers = {name: stack.enter_context(lucius(home, services="none")) for name, home in homes.items()}
        for number in range(ROUNDS + 1):
            run.tell(f"round {number} of {ROUNDS}: requests" if number else "warming up")
            _ask_all(servers, ids, number, times)
    return [
        compared(
            PART,
            what,
            "ms",
            found["many"],
            baseline=BASELINE,
            against=found["few"],
            aim=None if what == START else at_most(1.2),
        )
        for what, found in times.items()
    ]


def _ask_all(servers: dict[str, Server], ids: dict[str, list[str]], number: int, times: Times) -> None:
    """Every kind of request, asked of one server right after the other."""
    kinds = _kinds(number)
    for what, ask in kinds.items():
        for name, server in _in_turn(servers, number):
            milliseconds = ask(server, ids[name])
            if number:
                _note(times, what, name, milliseconds)


def _kinds(number: int) -> dict[str, Ask]:
    """What is asked, and how it is timed."""
    found: dict[str, Ask] = {
        "submit": lambda server, _: _undisturbed(server, submits(server.port), 202, number * REQUESTS),
        "get a job": lambda server, ids: _gets(server, [f"/v1/jobs/{job_id}" for job_id in ids]),
        "events of a job": lambda server, ids: _gets(server, [f"/v1/jobs/{job_id}/events" for job_id in ids]),
    }
    for what, query in _filters().items():
        path = f"/v1/jobs?limit=5&{query}"
        found[f"list {what}"] = lambda server, _, path=path: _gets(server, [path])  # type: ignore[misc]
    found["list dead letters"] = lambda server, _: _gets(server, ["/v1/admin/dead-letters?limit=5"])
    found["due-poll"] = lambda server, _: _read(server, lambda reader: reader.due(_now(), 500))
    found["find an idempotency key"] = lambda server, _: _read(server, lambda reader: reader.claim("t", "?"))
    return found


def _filters() -> dict[str, str]:
    """Query strings by what they ask for; each finds at least five jobs in both ledgers, or none."""
    tenant = f"tenant_id={TENANTS[0]}"
    week_ago = quote(iso(_now() - 7 * 86_400_000))
    return {
        "everything": "",
        "of a tenant": tenant,
        "by tenant and state": f"{tenant}&state=FAILED_FINAL",
        "by state": "state=CANCELLED",
        "by two states": "state=CANCELLED&state=FAILED_FINAL",
        "by status": "status=FAILED_FINAL",
        "by state, none there": "state=PAUSED",
        "by tenant and state, none there": f"{tenant}&state=PAUSED",
        "by request type": f"{tenant}&request_type=OCR",
        "by request type, none there": f"{tenant}&request_type=SIS",
        "by document": f"{tenant}&doc_id=doc-000000000000",
        "by document, all tenants": "doc_id=doc-000000000000",
        "by correlation": "correlation_id=correlation-000000000000",
        "before a time": f"created_before={week_ago}",
        "from a time, by state": f"created_from={week_ago}&{tenant}&state=FAILED_FINAL",
    }


def _gets(server: Server, paths: list[str]) -> float:
    return _undisturbed(server, [get(path, server.port) for path in paths], 200, 0)


def _undisturbed(server: Server, requests: list[str], expect: int, first: int) -> float:
    """The time of one request at a time; a slow kind is asked less often."""
    trial = Spec(port=server.port, requests=requests, count=3, connections=1, first=first)
    count = max(5, min(REQUESTS, int(1000 / load(trial, expect=expect).p50_ms)))
    spec = Spec(port=server.port, requests=requests, count=count, connections=1, first=first + 3)
    return load(spec, expect=expect).p10_ms


def _read(server: Server, act: Callable[[Reader], object]) -> float:
    """The time of a question to the file."""
    reader = Reader(open_reader(server.ledger))
    times = []
    for _ in range(1000):
        started = time.perf_counter()
        act(reader)
        times.append(1000 * (time.perf_counter() - started))
    return sorted(times)[100]


def _now() -> int:
    return int(time.time() * 1000)


def _in_turn(servers: dict[str, Server], number: int) -> list[tuple[str, Server]]:
    """Neither one is always the first."""
    found = list(servers.items())
    return found if number % 2 else found[::-1]


def _note(times: Times, what: str, name: str, milliseconds: float) -> None:
    times.setdefault(what, {}).setdefault(name, []).append(milliseconds)


def _check_room(run: Run) -> None:
    free = shutil.disk_usage(run.home).free
    needed = run.stored * BYTES_PER_JOB
    if free < needed:
        message = (
            f"{run.stored:,} jobs want {needed / 1e9:.0f} GB below {run.home}; {free / 1e9:.0f} are free. "
            "Name another place with LUCIUS_BENCH_DIR, or fewer jobs with --stored"
        )
        raise SystemExit(message)
