"""A double of Lucius that answers as it is told and remembers what it was asked."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

ACCEPTED = {"verdict": "accepted", "lease_expires_at": "2030-01-01T00:00:00.000Z", "cancel_requested": False}


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request."""

    path: str
    headers: dict[str, str]
    body: Any


Answer = tuple[int, Any]


def agreeable(asked: Asked) -> Answer:
    """What a Lucius in a good mood says."""
    if asked.path.endswith("/batch"):
        results = [
            {"index": at, "status": 200, "answer": ACCEPTED} for at in range(len(asked.body["replies"]))
        ]
        return 200, {"results": results}
    if asked.path.endswith("receive"):
        return 200, {"directives": []}
    if asked.path.endswith(("settle", "renew")):
        return 200, {"results": []}
    return 200, ACCEPTED


@dataclass(kw_only=True)
class Double:
    """Give it `answer`; look at `asked`. `gate`, when cleared, holds every answer back."""

    url: str = ""
    answer: Callable[[Asked], Answer] = agreeable
    asked: list[Asked] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    arrived: asyncio.Condition = field(default_factory=asyncio.Condition)
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)

    def paths(self) -> Counter[str]:
        """How often each path was asked."""
        return Counter(one.path for one in self.asked)

    async def until_asked(self, times: int) -> None:
        """Wait until so many requests have arrived."""
        async with self.arrived:
            await self.arrived.wait_for(lambda: len(self.asked) >= times)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, kept alive."""
        try:
            while (asked := await _read(reader)) is not None:
                self.asked.append(asked)
                async with self.arrived:
                    self.arrived.notify_all()
                if not await self._opened(reader):
                    break
                status, document = self.answer(asked)
                body = document.encode() if isinstance(document, str) else json.dumps(document).encode()
                head = f"HTTP/1.1 {status} Said\r\nContent-Type: application/json\r\n"
                writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
                await writer.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def _opened(self, reader: asyncio.StreamReader) -> bool:
        """Wait for the gate; False if the client hangs up first."""
        gone = asyncio.ensure_future(reader.read(1))
        opened = asyncio.ensure_future(self.gate.wait())
        await asyncio.wait((gone, opened), return_when=asyncio.FIRST_COMPLETED)
        if gone.done():
            self.hung_up.set()
        for task in (gone, opened):
            task.cancel()
        await asyncio.gather(gone, opened, return_exceptions=True)
        return not self.hung_up.is_set()


def problem(status: int, code: str, detail: str = "No.") -> Answer:
    """A refusal, as Lucius words it."""
    return status, {"status": status, "code": code, "detail": detail}


def once(first: Answer, *more: Answer) -> Callable[[Asked], Answer]:
    """These answers, one after another; then agreeable ones."""
    script = iter((first, *more))
    return lambda asked: next(script, None) or agreeable(asked)


@asynccontextmanager
async def double() -> AsyncIterator[Double]:
    """A double that listens on the loopback."""
    made = Double()
    made.gate.set()
    connections: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections.add(task)
        await made.serve(reader, writer)
        connections.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
    except asyncio.IncompleteReadError:
        return None
    pairs = (line.partition(": ") for line in head[1:] if line)
    headers = {name.lower(): value for name, _, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Asked(path=head[0].split(" ")[1], headers=headers, body=json.loads(body))
