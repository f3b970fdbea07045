"""Whether an invoker answers the temporal worker: looked at from time to time, said once, shown to probes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx2
import structlog

from lucius.runtime import nature
from lucius.sdk.serving.health import listen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import Receive, Scope, Send

EVERY, SOON = 5.0, 0.5
"""Seconds between two looks; the other while nobody answers."""
_TEXT = (b"content-type", b"text/plain; charset=utf-8")


class InvokerPulse:
    """Asks each address for its health; one that answers is enough."""

    def __init__(self, urls: Sequence[str]) -> None:
        self._urls = tuple(urls)
        self._away: bool | None = None
        self.working = False
        """Whether the worker takes tasks."""

    async def run(self) -> None:
        """Until cancelled."""
        log = structlog.get_logger("lucius.temporal")
        async with httpx2.AsyncClient(timeout=2.0, trust_env=False) as http:
            while True:
                away = not any([await answers(http, url) for url in self._urls])
                if away and not self._away:
                    log.warning("no invoker answers; trying on", urls=list(self._urls))
                elif self._away and not away:
                    log.info("an invoker answers again")
                self._away = away
                await nature.sleep(SOON if away else EVERY)

    async def listen(self, address: str) -> None:
        """Answer probes at `HOST:PORT` until cancelled."""
        host, _, port = address.rpartition(":")
        await listen(self, host.strip("[]"), int(port))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - ASGI
        """Answer one probe."""
        if scope["type"] != "http":
            return
        status, body = self._said(scope["path"])
        headers = [_TEXT, (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _said(self, path: str) -> tuple[int, bytes]:
        if path == "/healthz":
            return 200, b"ok\n"
        if path != "/readyz":
            return 404, b"/healthz, /readyz\n"
        if not self.working:
            return 503, b"Temporal has not answered, or the worker is about to end\n"
        return (503, b"no invoker answers\n") if self._away else (200, b"ready\n")


async def answers(http: httpx2.AsyncClient, url: str) -> bool:
    """Whether an invoker is there."""
    try:
        return (await http.get(f"{url}/healthz")).status_code == httpx2.codes.OK
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return False
