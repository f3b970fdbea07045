"""The load generator: a process of its own that keeps `connections` requests under way.

Bare asyncio protocols on uvloop, requests made beforehand, keep-alive, answers read just far enough to
know their status and their end. `python -m bench.load` reads a Spec from stdin and writes a Load.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time

import msgspec
import uvloop

from bench.orders import SLOT


class Spec(msgspec.Struct, frozen=True, kw_only=True):
    """What to send. `requests` are taken in turn; a SLOT in them becomes a number that counts on."""

    port: int
    requests: list[str]
    count: int
    connections: int
    first: int = 0
    """The first number."""


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """What came of it."""

    started: float
    """Seconds since the epoch, to be compared with the ledger's times."""
    seconds: float
    count: int
    statuses: dict[int, int]
    p10_ms: float
    p50_ms: float
    p99_ms: float
    cpu_seconds: float

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.count / self.seconds


class Feed:
    """Gives out requests and takes note of answers."""

    def __init__(self, spec: Spec) -> None:
        self.parts = [request.encode().split(SLOT.encode()) for request in spec.requests]
        self.next = spec.first
        self.end = spec.first + spec.count
        self.open = 0
        self.statuses: dict[int, int] = {}
        self.times: list[float] = []
        self.done = asyncio.get_running_loop().create_future()

    def take(self) -> bytes | None:
        """The next request, or None."""
        number = self.next
        if number == self.end:
            return None
        self.next = number + 1
        parts = self.parts[number % len(self.parts)]
        return parts[0] if len(parts) == 1 else (b"%012d" % number).join(parts)


class Connection(asyncio.Protocol):
    """One request at a time, until the feed is empty."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self.buffer = b""
        self.sent = 0.0
        self.transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the start."""
        self.transport = transport  # type: ignore[assignment]

    def send(self) -> None:
        """The next request, or goodbye."""
        request = self.feed.take()
        if request is None:
            self.feed.open -= 1
            if not self.feed.open:
                self.feed.done.set_result(None)
            return
        self.sent = time.perf_counter()
        self.transport.write(request)

    def data_received(self, data: bytes) -> None:
        """An answer, or a part of one."""
        buffer = self.buffer + data if self.buffer else data
        end = buffer.find(b"\r\n\r\n")
        if end < 0 or len(buffer) < end + 4 + _length(buffer, end):
            self.buffer = buffer
            return
        self.buffer = b""
        feed = self.feed
        status = int(buffer[9:12])
        feed.statuses[status] = feed.statuses.get(status, 0) + 1
        feed.times.append(time.perf_counter() - self.sent)
        self.send()

    def connection_lost(self, error: Exception | None) -> None:
        """Fail loudly when the server hangs up in the middle."""
        if not self.feed.done.done():
            self.feed.done.set_exception(error or ConnectionError("the server hung up"))


def _length(buffer: bytes, end: int) -> int:
    at = buffer.lower().find(b"content-length:", 0, end)
    return int(buffer[at + 15 : buffer.find(b"\r", at)]) if at >= 0 else 0


async def generate(spec: Spec) -> Load:
    """Send everything."""
    loop = asyncio.get_running_loop()
    feed = Feed(spec)
    connections = [
        (await loop.create_connection(lambda: Connection(feed), "127.0.0.1", spec.port))[1]
        for _ in range(min(spec.connections, spec.count))
    ]
    feed.open = len(connections)
    started, start, cpu = time.time(), time.perf_counter(), time.process_time()
    for connection in connections:
        connection.send()
    await feed.done
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    for connection in connections:
        connection.transport.abort()
    times = sorted(feed.times)
    return Load(
        started=started,
        seconds=seconds,
        count=spec.count,
        statuses=feed.statuses,
        p10_ms=times[len(times) // 10] * 1000,
        p50_ms=times[len(times) // 2] * 1000,
        p99_ms=times[int(len(times) * 0.99)] * 1000,
        cpu_seconds=cpu,
    )


def load(spec: Spec, *, expect: int) -> Load:
    """Run it in a process of its own; every answer must have the expected status."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.load"],
        input=msgspec.json.encode(spec),
        stdout=subprocess.PIPE,
        check=True,
    )
    found = msgspec.json.decode(done.stdout, type=Load)
    if set(found.statuses) != {expect}:
        message = f"expected {spec.count} answers with {expect}, got {found.statuses}"
        raise RuntimeError(message)
    return found


def main() -> None:
    """Read the spec, send, write the outcome."""
    spec = msgspec.json.decode(sys.stdin.buffer.read(), type=Spec)
    sys.stdout.buffer.write(msgspec.json.encode(uvloop.run(generate(spec))))


if __name__ == "__main__":
    main()
