"""A scripted Lucius for the runner: a double, so that a test decides what it delivers and what it answers.

The real one is used in tests/acceptance; here the point is what happens when it behaves badly.
"""

from __future__ import annotations

import asyncio
import os
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lucius.errors import Unavailable
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.attempt import Tools
from lucius.sdk.serving.meter import Meter
from lucius.sdk.serving.pools import Processes
from lucius.sdk.serving.ports import Heard, Lent
from lucius.sdk.serving.runner import Options, Runner
from lucius.sdk.serving.service import Service
from lucius.sdk.serving.spans import Spans
from lucius.sdk.serving.telling import Telling
from lucius.sdk.workspaces.stores import Stores
from lucius.wire.messages import (
    AckMessage,
    DirectiveMessage,
    HeartbeatMessage,
    ResultMessage,
    encode,
)
from lucius.wire.timestamps import iso

Reply = AckMessage | HeartbeatMessage | ResultMessage
PATIENCE = float(os.environ.get("LUCIUS_TEST_PATIENCE", "30"))
"""Seconds a test waits for what must happen; less where it is known not to (tests/planted)."""


def now_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class LuciusDouble:
    """A `Transport` whose other side is the test."""

    def __init__(self) -> None:
        self.waiting: asyncio.Queue[Lent] = asyncio.Queue()
        self.replies: list[Reply] = []
        self.completed: list[str] = []
        self.abandoned: list[str] = []
        self.refused: list[str] = []
        self.asked: list[int] = []
        self.answer: Callable[[Reply], Heard] = lambda _reply: Heard(verdict="accepted")
        self._changed = asyncio.Event()
        self._tokens = 0

    def deliver(self, directive: DirectiveMessage | bytes) -> str:
        """Let the service have this; the lock token it gets."""
        self._tokens += 1
        body = directive if isinstance(directive, bytes) else encode(directive)
        self.waiting.put_nowait(Lent(body=body, lock_token=f"lock-{self._tokens}"))
        return f"lock-{self._tokens}"

    def of(self, kind: type[Any], job_id: str | None = None) -> list[Any]:
        """The replies of one kind, as they came."""
        return [reply for reply in self.replies if isinstance(reply, kind) and job_id in (None, reply.job_id)]

    async def until(self, condition: Callable[[], bool], within: float = PATIENCE) -> None:
        """Wait until something holds; a timeout is the failure of the test."""
        async with asyncio.timeout(within):
            while not condition():
                self._changed.clear()
                try:
                    async with asyncio.timeout(0.02):
                        await self._changed.wait()
                except TimeoutError:
                    continue

    async def receive(self, step_types: Sequence[str], *, limit: int, wait: float) -> list[Lent]:
        """What the test delivered."""
        self.asked.append(limit)
        try:
            async with asyncio.timeout(wait):
                found = [await self.waiting.get()]
        except TimeoutError:
            return []
        while len(found) < limit and not self.waiting.empty():
            found.append(self.waiting.get_nowait())
        return found

    async def complete(self, lock_tokens: Sequence[str]) -> None:
        """Noted."""
        self.completed += lock_tokens
        self._changed.set()

    async def abandon(self, lock_tokens: Sequence[str]) -> None:
        """Noted."""
        self.abandoned += lock_tokens
        self._changed.set()

    async def refuse(self, lock_token: str, reason: str) -> None:
        """Noted."""
        self.refused.append(lock_token)
        self._changed.set()

    async def renew(self, lock_tokens: Sequence[str]) -> list[bool]:
        """Locks of the double never run out."""
        return [True for _ in lock_tokens]

    async def reply(self, directive: DirectiveMessage, reply: Reply) -> Heard:
        """What the test answers."""
        heard = self.answer(reply)
        self.replies.append(reply)
        self._changed.set()
        return heard

    async def close(self) -> None:
        """Nothing to let go of."""


def away_for(times: int, kind: type[Any]) -> Callable[[Reply], Heard]:
    """Lucius is away for the first so many replies of a kind."""
    left = [times]

    def answer(reply: Reply) -> Heard:
        if isinstance(reply, kind) and left[0] > 0:
            left[0] -= 1
            raise Unavailable("away, says the test")
        return Heard(verdict="accepted")

    return answer


def directive(tmp_path: Path, job_id: str = "job-1", **given: Any) -> DirectiveMessage:
    """A directive with a small document behind it."""
    document = tmp_path / "document.txt"
    if not document.exists():
        document.write_text("one two three")
    fields: dict[str, Any] = {
        "job_id": job_id, "step_id": "count", "tenant_id": "acme", "attempt_no": 1,
        "lease_id": f"lease-{job_id}",
        "protocol_id": "COUNT", "step_type": "COUNT", "input_ref": {"uri": document.as_uri()},
        "workspace_ref": {"uri": (tmp_path / "workspace" / job_id).as_uri()},
        "output_ref": {"uri": (tmp_path / "out").as_uri()}, "payload": {}, "mode": "DEFAULT", "lane": 3,
        "routing_key_used": "acme", "correlation_id": None, "traceparent": None,
        "lease_expires_at": iso(now_ms() + 60_000),
    }  # fmt: skip
    return DirectiveMessage(**(fields | given))


@asynccontextmanager
async def running(
    service: Service[Any], lucius: LuciusDouble, store: Path, **options: Any
) -> AsyncIterator[Runner]:
    """A runner at work; stopped on the way out."""
    attempts = SqliteAttempts(store)
    runner = made(service, lucius, attempts, **options)
    task = asyncio.create_task(runner.run())
    try:
        yield runner
    finally:
        runner.stop()
        try:
            await task
        finally:
            await attempts.close()


def made(service: Service[Any], lucius: LuciusDouble, attempts: SqliteAttempts, **options: Any) -> Runner:
    """A runner at rest."""
    usual: dict[str, Any] = {"owner": f"test-{random.random()}", "wait": 0.5, "drain_seconds": 10.0}
    chosen = Options(**(usual | {"concurrency": service.concurrency} | options))
    tools = Tools(
        transport=lucius,
        attempts=attempts,
        stores=Stores(),
        processes=Processes(chosen.concurrency),
        telling=Telling(lucius, attempts, clock=now_ms, sleep=asyncio.sleep),
        meter=Meter(service.step_type),
        spans=Spans(),
        clock=now_ms,
        sleep=asyncio.sleep,
    )
    return Runner(service, tools, chosen, sleep=asyncio.sleep)
