"""A road to AWS on which answers get lost: a proxy on the loopback that obeys one order for each request.

async with faulty(aws.port) as road:
    road.orders["UpdateItem"] = [Lose.ANSWER]      the next one is done, and nobody hears of it
    clients = await connect(endpoint=road.endpoint, …)
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from enum import Enum, auto
from typing import Any

from lucius.testing.processes import HOST


class Lose(Enum):
    """What does not arrive."""

    REQUEST = auto()
    ANSWER = auto()


class Road:
    """The proxy. `orders`: operation -> what to do with its next requests: lose it, or answer this error."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self.port = 0
        self.orders: dict[str, list[Lose | dict[str, Any]]] = {}
        self.seen: Counter[str] = Counter()
        self.meanwhile: Callable[[], Awaitable[None]] | None = None
        """Runs once, after the next answer was lost and before anybody can know."""

    @property
    def endpoint(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self.port}"

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection."""
        try:
            while (request := await _message(reader)) is not None:
                answer = await self._answer(request)
                if answer is None:
                    break
                writer.write(answer)
                await writer.drain()
        finally:
            writer.close()

    async def _answer(self, request: bytes) -> bytes | None:
        operation = _operation(request)
        self.seen[operation] += 1
        waiting = self.orders.get(operation)
        order = waiting.pop(0) if waiting else None
        if order is Lose.REQUEST:
            return None
        if isinstance(order, dict):
            body = json.dumps(order).encode()
            kind = "content-type: application/x-amz-json-1.0"
            head = f"HTTP/1.1 400 Bad Request\r\n{kind}\r\ncontent-length: {len(body)}\r\n\r\n"
            return head.encode() + body
        reader, writer = await asyncio.open_connection(HOST, self._upstream)
        writer.write(request)
        answer = await _message(reader)
        writer.close()
        if order is not Lose.ANSWER:
            return answer
        if self.meanwhile is not None:
            todo, self.meanwhile = self.meanwhile, None
            await todo()
        return None


@asynccontextmanager
async def faulty(upstream: int) -> AsyncIterator[Road]:
    """A road for a block."""
    road = Road(upstream)
    server = await asyncio.start_server(road.carry, HOST, 0)
    road.port = server.sockets[0].getsockname()[1]
    try:
        yield road
    finally:
        server.close()


async def _message(reader: asyncio.StreamReader) -> bytes | None:
    """A whole request or answer; None: the other side is gone."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (
                line.split(b":")[1]
                for line in head.split(b"\r\n")
                if line.lower().startswith(b"content-length:")
            ),
            b"0",
        )
        return head + await reader.readexactly(int(length))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None


def _operation(request: bytes) -> str:
    for line in request.split(b"\r\n\r\n", 1)[0].split(b"\r\n"):
        if line.lower().startswith(b"x-amz-target:"):
            return line.rpartition(b".")[2].decode()
    return ""
