"""Refusals: problem+json for everything that goes wrong, and nothing told that should not be."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from lucius.entrypoints.api.services import Services
from lucius.errors import Broken, Unavailable
from lucius.testing.hostile import valid
from tests.api.world import World, problem


@pytest.mark.parametrize(
    "path", ["/", "/nope", "/v1", "/v1/jobs/", "/v1/orchestrate/", "/docs", "/v2/jobs", "//"]
)
async def test_unknown_routes_are_problems(api: World, path: str) -> None:
    """A path that is not served is a 404 problem and never a redirect."""
    found = problem(await api.client.get(path), 404, "UNKNOWN_ROUTE")
    assert found["detail"]


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/v1/orchestrate", "OPTIONS, POST"),
        ("DELETE", "/v1/jobs", "GET, HEAD, OPTIONS"),
        ("PUT", "/v1/jobs/abc", "GET, HEAD, OPTIONS"),
        ("PATCH", "/healthz", "GET, HEAD, OPTIONS"),
        ("GET", "/v1/directives:receive", "OPTIONS, POST"),
    ],
)
async def test_wrong_methods_are_told_the_right_ones(api: World, method: str, path: str, allow: str) -> None:
    """405 comes with Allow, and OPTIONS answers the same."""
    answer = await api.client.request(method, path)
    problem(answer, 405, "METHOD_NOT_ALLOWED")
    assert answer.headers["allow"] == allow
    asked = await api.client.options(path)
    assert (asked.status_code, asked.headers["allow"], asked.text) == (204, allow, "")


@pytest.mark.parametrize("path", ["/healthz", "/v1/jobs", "/v1/protocols", "/openapi.json", "/nope"])
async def test_head_is_get_without_a_body(api: World, path: str) -> None:
    """HEAD answers what GET answers, less the body."""
    head, get = await api.client.head(path), await api.client.get(path)
    assert (head.status_code, head.headers["content-type"], head.content) == (
        get.status_code,
        get.headers["content-type"],
        b"",
    )


async def test_head_of_a_story_does_not_wait_for_its_end(api: World) -> None:
    """HEAD on an event stream answers at once."""
    job_id = await api.submit()
    answer = await api.client.head(f"/v1/jobs/{job_id}/events", headers={"accept": "text/event-stream"})
    assert (answer.status_code, answer.content) == (200, b"")


class Breaks:
    """A use case whose every call fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def submit(self, *_: object, **__: object) -> None:
        """Fail."""
        raise self.error

    async def job(self, *_: object) -> None:
        """Fail."""
        raise self.error


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("secret hunter2"),
        Broken("job x: secret hunter2"),
        ExceptionGroup("g", [ValueError("hunter2")]),
    ],
)
async def test_unexpected_errors_tell_an_incident_and_nothing_else(api: World, error: Exception) -> None:
    """A failure inside is 500 INTERNAL with an id, on the short way and through the framework."""
    plain = api.api.busy["/v1/orchestrate"]
    services = plain.services
    broken = _with(services, submit=Breaks(error), query=Breaks(error))
    plain.services = broken
    api.api.state.services = broken
    for answer in (await api.post("/v1/orchestrate", valid()), await api.get("/v1/jobs/abc")):
        found = problem(answer, 500, "INTERNAL")
        assert found["incident_id"] in found["detail"]
        assert "hunter2" not in answer.text


async def test_what_is_away_is_503_with_a_time_to_come_back(api: World) -> None:
    """An unavailable part is told without its name or address."""
    broken = _with(
        api.api.busy["/v1/orchestrate"].services, submit=Breaks(Unavailable("/data/ledger.db is gone"))
    )
    api.api.busy["/v1/orchestrate"].services = broken
    answer = await api.post("/v1/orchestrate", valid())
    problem(answer, 503, "UNAVAILABLE")
    assert int(answer.headers["retry-after"]) > 0
    assert "ledger.db" not in answer.text


async def test_readiness_says_what_is_not_up(api: World) -> None:
    """503 names the part and the reason; health stays 200."""
    assert (await api.get("/readyz")).json()["status"] == "ready"
    api.lucius.state.phase = "draining"
    answer = await api.get("/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "not_ready")
    assert answer.json()["components"]["process"] == "draining"
    assert (await api.get("/healthz")).status_code == 200


async def test_metrics_speak_the_scrapers_dialect(api: World) -> None:
    """Prometheus text by default, OpenMetrics to whoever asks, requests counted by route."""
    await api.submit()
    text = await api.get("/metrics")
    assert text.headers["content-type"].startswith("text/plain")
    assert 'route="/v1/orchestrate"' in text.text
    opened = await api.get("/metrics", {"accept": "application/openmetrics-text"})
    assert opened.headers["content-type"].startswith("application/openmetrics-text")


def _with(services: Services, **changes: Any) -> Services:
    """The services with some replaced."""
    return replace(services, **changes)
