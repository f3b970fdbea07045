"""Every route, and how a path finds its own."""

from __future__ import annotations

import re
from typing import NamedTuple

from lucius.entrypoints.invoker import jobs, probes, steps
from lucius.entrypoints.invoker.door import Handler

CONTROL = "/v1/internal/jobs/{jobId}/control"
_CONTROL = re.compile(r"/v1/internal/jobs/([A-Za-z0-9_-]{1,64})/control")


class Route(NamedTuple):
    """A path template (telemetry names requests by it), and what is done there."""

    method: str
    path: str
    handler: Handler
    open: bool = False
    """Served without a token, and while draining."""


ROUTES = (
    Route("POST", "/v1/internal/steps/advance", steps.advance),
    Route("POST", "/v1/internal/steps/attempt", steps.attempt),
    Route("POST", "/v1/internal/publish", steps.publish),
    Route("POST", "/v1/internal/replies", jobs.reply),
    Route("POST", CONTROL, jobs.control),
    Route("POST", "/v1/internal/jobs/republish", jobs.republish),
    Route("GET", "/metrics", probes.metrics),
    Route("GET", "/healthz", probes.health, open=True),
    Route("GET", "/readyz", probes.ready, open=True),
)
_BY_PATH = {route.path: route for route in ROUTES}


def find(path: str) -> tuple[Route, str] | None:
    """The route of a path, and the job id in it."""
    found = _CONTROL.fullmatch(path)
    if found is not None:
        return _BY_PATH[CONTROL], found[1]
    route = _BY_PATH.get(path) if path != CONTROL else None
    return None if route is None else (route, "")
