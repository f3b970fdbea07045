"""Whether a job costs more when many are stored: the same work on 1,000 and on 1,000,000 jobs.

Two servers, one on each ledger, are asked in turn. Times are per request as a client sees them (a
handful of connections, everything in the page cache); what the reconciler asks is measured on the file,
with the reader it uses. A ratio is time with many over time with few.
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
CONNECTIONS = 4
REQUESTS = 800
JOBS = 3000
BASELINE = f"{FEW:,} stored jobs"
Times = dict[str, dict[str, list[float]]]


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
            _note(times, "start until ready", name, 1000 * server.ready_seconds)
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
            for name, server in _in_turn(servers, number):
                for what, milliseconds in _ask(server, ids[name], number, run.tell).items():
                    if number:
                        _note(times, what, name, milliseconds)
    return [
        compared(PART, what, "ms", found["many"], BASELINE, found["few"], None if "start" in what else at_most(1.2))
        for what, found in times.items()
    ]  # fmt: skip


def _ask(server: Server, ids: list[str], number: int, tell: Callable[[str], None]) -> dict[str, float]:
    """Milliseconds of each kind of request."""
    port = server.port
    found = {}
    spec = Spec(port=port, requests=submits(port), count=REQUESTS, connections=CONNECTIONS, first=number * REQUESTS)
    found["submit"] = _each(load(spec, expect=202).seconds, REQUESTS)
    paths = {"get a job": [f"/v1/jobs/{job_id}" for job_id in ids]}
    paths["events of a job"] = [f"/v1/jobs/{job_id}/events" for job_id in ids]
    paths |= {f"list {what}": [f"/v1/jobs?limit=5&{query}"] for what, query in _filters().items()}
    paths["list dead letters"] = ["/v1/admin/dead-letters?limit=5"]
    for what, some in paths.items():
        tell(f"round {number} of {ROUNDS}: {what}" if number else f"warming up: {what}")
        found[what] = _timed(port, some)
    reader = Reader(open_reader(server.ledger))
    found["due-poll"] = _repeated(lambda: reader.due(int(time.time() * 1000), 500))
    found["find an idempotency key"] = _repeated(lambda: reader.claim(TENANTS[0], "no such key"))
    return found


def _filters() -> dict[str, str]:
    """Query strings by what they ask for; each finds at least five jobs in both ledgers, or none."""
    tenant = f"tenant_id={TENANTS[0]}"
    week_ago = quote(iso(int(time.time() * 1000) - 7 * 86_400_000))
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


def _timed(port: int, paths: list[str]) -> float:
    """Milliseconds a request; a first look says how many fit into about a second."""
    requests = [get(path, port) for path in paths]
    spec = Spec(port=port, requests=requests, count=2, connections=1)
    first = load(spec, expect=200).p50_ms
    count = max(5, min(REQUESTS, int(1000 / first)))
    spec = Spec(port=port, requests=requests, count=count, connections=min(CONNECTIONS, count))
    return _each(load(spec, expect=200).seconds, count)


def _each(seconds: float, count: int) -> float:
    return 1000 * seconds / count


def _repeated(act: Callable[[], object]) -> float:
    started = time.perf_counter()
    for _ in range(1000):
        act()
    return time.perf_counter() - started


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
            f"{run.stored:,} stored jobs want {needed / 1e9:.0f} GB below {run.home} and {free / 1e9:.0f} are free: "
            "name another place with LUCIUS_BENCH_DIR, or fewer jobs with --stored"
        )
        raise SystemExit(message)
