"""The internal API on a real socket, with an invoker behind it that remembers what it was asked."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from typing import Any

import httpx2
import uvicorn

from lucius.adapters.invokers.http import HttpInvoker
from lucius.core.admission import Limits
from lucius.core.commands import Ack, Command, Pause, Reply
from lucius.core.decide import Verdict
from lucius.core.job import standing
from lucius.entrypoints.invoker import BearerTokens, InvokerServices, create_invoker_app
from lucius.entrypoints.invoker.routes import CONTROL
from lucius.ports.engine import Answer
from lucius.ports.invoker import Advance, Advanced, Attempted, Invoker
from lucius.testing.jobs import Story, job_id, render

TOKEN = "the-token-of-these-tests"
HOST = "127.0.0.1"
NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # reading certificates takes longer than a test
JOB_ID = job_id(number=7)
STORY = Story().published()
DIRECTIVE = render(STORY.job, 0).body
NAMED = {"jobId": JOB_ID, "tenant_id": "acme"}
ATTEMPT = {"stepId": "ocr", "attempt_no": 1, "lease_id": "lease-1"}

#: A good body for every route that takes one.
BODIES: dict[str, dict[str, Any]] = {
    "/v1/internal/steps/advance": {**NAMED, "known": 3, "lease_id": "lease-1", "spread": 0.25},
    "/v1/internal/steps/attempt": {**NAMED, **ATTEMPT, "lease_expires_at": "2026-01-27T10:17:00Z"},
    "/v1/internal/publish": {"lane": 3, "directive": httpx2.Response(200, content=DIRECTIVE).json()},
    "/v1/internal/replies": {**NAMED, "reply": {"type": "ACK", **ATTEMPT}},
    CONTROL: {"command": {"type": "cancel", "force": True}, "limits": {"tenant_jobs": 5}},
    "/v1/internal/jobs/republish": {"job_ids": [JOB_ID]},
}


class Recorder:
    """An invoker that answers and raises what it is told to."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.advanced = Advanced(standing=standing(STORY.job), now=STORY.now)
        self.answer = Answer(verdict=Verdict.ACCEPTED, job=STORY.job)
        self.error: Exception | None = None
        self.gate: asyncio.Event | None = None
        self.entered = asyncio.Event()

    async def advance(self, ask: Advance) -> Advanced:
        """As told."""
        await self._called("advance", ask)
        return self.advanced

    async def attempt(self, minted: Attempted) -> Advanced:
        """As told."""
        await self._called("attempt", minted)
        return self.advanced

    async def publish(self, lane: int, directive: bytes) -> None:
        """As told."""
        await self._called("publish", lane, directive)

    def report(self, tenant_id: str, job_id: str, reply: Reply) -> Awaitable[Answer]:
        """As told."""
        return self._answered("report", tenant_id, job_id, reply)

    def control(self, job_id: str, command: Command, limits: Limits) -> Awaitable[Answer]:
        """As told."""
        return self._answered("control", job_id, command, limits)

    async def republish(self, job_ids: list[str]) -> int:
        """As told."""
        await self._called("republish", job_ids)
        return len(job_ids)

    async def _answered(self, *call: Any) -> Answer:
        await self._called(*call)
        return self.answer

    async def _called(self, *call: Any) -> None:
        self.calls.append(call)
        self.entered.set()
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error


class World:
    """A running internal API."""

    def __init__(self, *tokens: str) -> None:
        self.recorder = Recorder()
        self.draining = False
        self.components = {"ledger": "ok"}
        self.url = ""
        self.seen: list[dict[str, Any]] = []
        """The scope of every request."""
        numbers = count(1)
        invoker: Invoker = self.recorder
        self.app = create_invoker_app(
            InvokerServices(
                invoker=invoker,
                tokens=BearerTokens(tokens or (TOKEN,)),
                ready=lambda: self.components,
                draining=lambda: self.draining,
                new_id=lambda: f"incident-{next(numbers)}",
                metrics_text=self._metrics,
                version="1.2.3",
            )
        )

    async def _metrics(self, accept: str) -> tuple[bytes, str]:
        return b"lucius_up 1\n", accept or "text/plain"

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """The application, seen from outside."""
        self.seen.append(scope)
        await self.app(scope, receive, send)

    @contextlib.asynccontextmanager
    async def client(self, token: str = TOKEN, **more: Any) -> AsyncIterator[HttpInvoker]:
        """Our own client in front of it."""
        async with inviting(self.url, token, **more) as invoker:
            yield invoker

    async def ask(self, method: str, path: str, *, token: str | None = TOKEN, **more: Any) -> httpx2.Response:
        """One plain request, such as any program may send."""
        headers = [*more.pop("headers", {}).items()]
        if token is not None:
            headers.append(("Authorization", f"Bearer {token}"))
        async with httpx2.AsyncClient(trust_env=False, verify=NO_TLS) as http:
            return await http.request(method, self.url + path, headers=headers, **more)

    async def post(self, path: str, body: Any) -> httpx2.Response:
        """A body, as JSON."""
        return await self.ask("POST", path.replace("{jobId}", JOB_ID), json=body)


@contextlib.asynccontextmanager
async def serving(app: Callable[..., Any]) -> AsyncIterator[str]:
    """The address of an application on a socket of its own."""
    config = uvicorn.Config(app, lifespan="off", log_config=None, ws="none", timeout_graceful_shutdown=5)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind((HOST, 0))
        # Without its main loop, which minds signals and takes a tenth of a second to end.
        await server.startup([listener])
        try:
            yield f"http://{HOST}:{listener.getsockname()[1]}"
        finally:
            await server.shutdown([listener])


@contextlib.asynccontextmanager
async def inviting(urls: str, token: str = TOKEN, **more: Any) -> AsyncIterator[HttpInvoker]:
    """A client of these invokers."""
    invoker = HttpInvoker(urls, token, **more)
    try:
        yield invoker
    finally:
        await invoker.close()


def calls(invoker: Invoker) -> dict[str, Callable[[], Awaitable[Any]]]:
    """One call of every kind."""
    return {
        "advance": lambda: invoker.advance(
            Advance(job_id=JOB_ID, tenant_id="acme", known=1, lease_id="lease")
        ),
        "attempt": lambda: invoker.attempt(
            Attempted(job_id=JOB_ID, tenant_id="acme", step_id="ocr", attempt_no=1, lease_id="lease")
        ),
        "publish": lambda: invoker.publish(3, DIRECTIVE),
        "report": lambda: invoker.report("acme", JOB_ID, _ack()),
        "control": lambda: invoker.control(JOB_ID, Pause(), Limits()),
        "republish": lambda: invoker.republish([JOB_ID]),
    }


def _ack() -> Ack:
    return Ack(step_id="ocr", attempt_no=1, lease_id="lease")
