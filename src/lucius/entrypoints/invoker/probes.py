"""For machines that look after machines: health, readiness, metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.entrypoints.http.readiness import takes_work
from lucius.entrypoints.invoker.door import said

if TYPE_CHECKING:
    from lucius.entrypoints.http.problems import Answer
    from lucius.entrypoints.invoker.door import Call


async def health(call: Call) -> Answer:
    """`GET /healthz`: the process is alive."""
    return said({"status": "ok", "version": call.services.version})


async def ready(call: Call) -> Answer:
    """`GET /readyz`: whether calls are taken: 200, or 503 with the parts that are not up."""
    components = call.services.ready()
    if call.services.draining():
        components = {**components, "invoker": "draining"}
    good = takes_work(components)
    status = "ready" if good else "not_ready"
    return said({"status": status, "components": components}, 200 if good else 503)


async def metrics(call: Call) -> Answer:
    """`GET /metrics`. They concern all tenants, so they need the token."""
    body, content_type = await call.services.metrics_text(call.header(b"accept"))
    return 200, body, [(b"content-type", content_type.encode())]
