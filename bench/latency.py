"""The time of one job when nothing else runs: from the first byte of the submit to its end being seen."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import msgspec

from bench.figures import ROUNDS, Figure, Run, at_most, plain
from bench.orders import SLOT, TENANTS, envelope, get, post
from bench.processes import Server, lucius, read_answer
from lucius.adapters.ledgers.sqlite.files import open_writer

PART = "latency"
JOBS = 200
LAST = b"event: job.succeeded"


def measure(run: Run) -> list[Figure]:
    """One job at a time, in turn with a commit of one row on the same disk."""
    streamed: list[float] = []
    polled: list[float] = []
    answered: list[float] = []
    commits: list[float] = []
    with lucius(run.home / "latency") as server:
        client = Client(server)
        for _ in range(50):
            client.followed()
        for number in range(ROUNDS):
            run.tell(f"round {number + 1} of {ROUNDS}: {JOBS} jobs, one at a time")
            found = [client.followed() for _ in range(JOBS)]
            answered.append(middle([first for first, _ in found]))
            streamed.append(middle([last for _, last in found]))
            polled.append(middle([client.polled() for _ in range(JOBS)]))
            commits.append(commit_ms(run.home / f"commit-{number}.db"))
        client.close()
    return [
        plain(PART, "three-step job, end seen by SSE, p50", "ms", streamed, at_most(5.0)),
        plain(PART, "three-step job, end seen by asking, p50", "ms", polled, at_most(5.0)),
        plain(PART, "its submit answered, p50", "ms", answered),
        plain(PART, "one bare commit with fsync, p50", "ms", commits),
    ]


class Client:
    """Two connections: one submits, one watches."""

    def __init__(self, server: Server, request: str | None = None, first: int = 0) -> None:
        self._port = server.port
        self._submits = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        self._watches = socket.create_connection(("127.0.0.1", server.port), timeout=30)
        for wire in (self._submits, self._watches):
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._request = request or post("/v1/orchestrate", envelope(TENANTS[0]), server.port)
        self._number = first

    def followed(self) -> tuple[float, float]:
        """Milliseconds to the answer of the submit, and to the last event of its stream."""
        started = time.perf_counter()
        job_id = self._submit()
        answered = time.perf_counter()
        head = f"GET /v1/jobs/{job_id}/events HTTP/1.1\r\nHost: 127.0.0.1:{self._port}\r\n"
        self._watches.sendall(f"{head}Accept: text/event-stream\r\n\r\n".encode())
        found = b""
        ended = 0.0
        while not found.endswith(b"0\r\n\r\n"):
            found += self._watches.recv(65536)
            if not ended and LAST in found:
                ended = time.perf_counter()
        return 1000 * (answered - started), 1000 * (ended - started)

    def polled(self) -> float:
        """Milliseconds until a look at the job shows that it succeeded."""
        started = time.perf_counter()
        request = get(f"/v1/jobs/{self._submit()}", self._port).encode()
        while True:
            self._watches.sendall(request)
            if b'"state":"SUCCEEDED"' in read_answer(self._watches).partition(b'"steps"')[0]:
                return 1000 * (time.perf_counter() - started)

    def close(self) -> None:
        """Hang up."""
        self._submits.close()
        self._watches.close()

    def _submit(self) -> str:
        self._number += 1
        self._submits.sendall(self._request.replace(SLOT, f"{self._number:012d}").encode())
        answer = read_answer(self._submits)
        body = answer[answer.find(b"\r\n\r\n") + 4 :]
        return str(msgspec.json.decode(body)["jobId"])


def commit_ms(path: Path) -> float:
    """A transaction of one small row, with the pragmas of the ledger."""
    connection = open_writer(str(path))
    connection.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, body TEXT)")
    times = []
    for number in range(JOBS):
        started = time.perf_counter()
        connection.execute("INSERT INTO rows VALUES (?, ?)", (number, "x" * 200))
        times.append(1000 * (time.perf_counter() - started))
    connection.close()
    return middle(times)


def middle(times: list[float]) -> float:
    """The one in the middle."""
    return sorted(times)[len(times) // 2]
