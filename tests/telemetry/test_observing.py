from __future__ import annotations

import io
import logging

import pytest
import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from lucius.adapters.observed import ObservedBus
from lucius.core.decide import Decision, Verdict
from lucius.errors import Unavailable
from lucius.ports.bus import Delivery, Message, Settle, Settlement, Subscription
from lucius.ports.ledger import Census
from lucius.ports.ledger import Change as Committed
from lucius.telemetry.asgi import TRACEPARENT_KEY, ObservedApp
from lucius.telemetry.gauges import bus_gauges, ledger_gauges
from lucius.telemetry.journal import Journal
from lucius.telemetry.metrics import Metrics
from lucius.telemetry.observer import CommitObserver
from lucius.telemetry.traces import NoTraces
from tests.telemetry.jobs import START, TRACEPARENT, succeeded

MESSAGE = Message(message_id="m", topic="t", subject="OCR", tenant_id="acme", body=b"{}")


@pytest.fixture
def metrics() -> Metrics:
    """Metrics of a fresh process."""
    return Metrics(clock=lambda: START, version="1")


def _value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def _quiet_journal() -> Journal:
    logger = structlog.wrap_logger(
        structlog.WriteLogger(io.StringIO()),
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
    )
    return Journal(logger)


def test_a_ledgers_listener_feeds_everything(metrics: Metrics) -> None:
    """What `on_commit` hands over is counted, its batch size too."""
    observer = CommitObserver(metrics=metrics, journal=_quiet_journal(), traces=NoTraces())
    changes = [
        Committed(decision=Decision(job=job, events=events, verdict=Verdict.ACCEPTED))
        for job, events in succeeded().changes
    ]
    observer.listen(changes)
    assert _value(metrics, "lucius_ledger_batch_size_sum") == len(changes)
    assert _value(metrics, "lucius_jobs_finished_total", request_type="OCR_SIS", outcome="succeeded") == 1


def test_a_failing_part_reaches_neither_the_commit_nor_the_others(metrics: Metrics) -> None:
    """An error in tracing is counted; metrics still count the commit; the ledger hears nothing."""

    class Failing(NoTraces):
        enabled = True

        def observe_commit(self, changes):
            raise RuntimeError

    observer = CommitObserver(metrics=metrics, journal=_quiet_journal(), traces=Failing())
    with structlog.testing.capture_logs() as logged:
        observer.observe_commit(succeeded().changes)
        observer.observe_commit(succeeded("job-2").changes)
    assert _value(metrics, "lucius_telemetry_errors_total", part="traces") == 2
    assert _value(metrics, "lucius_jobs_accepted_total", request_type="OCR_SIS") == 2
    assert [line["part"] for line in logged] == ["traces"]


def _served(metrics: Metrics) -> TestClient:
    async def echo(request: Request) -> PlainTextResponse:
        return PlainTextResponse(str(request.scope[TRACEPARENT_KEY]))

    async def broken(request: Request) -> PlainTextResponse:
        raise RuntimeError

    app = Starlette(routes=[Route("/jobs/{job_id}", echo), Route("/broken", broken)])
    return TestClient(ObservedApp(app, metrics=metrics, traces=NoTraces()), raise_server_exceptions=False)


def test_requests_are_counted_by_template_never_by_path(metrics: Metrics) -> None:
    """A hundred job ids are one series, unknown paths are `unmatched`, a crash is a 500."""
    client = _served(metrics)
    for number in range(100):
        client.get(f"/jobs/{number}")
    client.get("/nowhere/1")
    client.get("/broken")
    name = "lucius_http_requests_total"
    assert _value(metrics, name, method="GET", route="/jobs/{job_id}", status="200") == 100
    assert _value(metrics, name, method="GET", route="unmatched", status="404") == 1
    assert _value(metrics, name, method="GET", route="/broken", status="500") == 1


def test_only_a_good_traceparent_reaches_the_handler(metrics: Metrics) -> None:
    """The handler finds the client's traceparent, or nothing instead of a bad one."""
    client = _served(metrics)
    assert client.get("/jobs/1", headers={"traceparent": TRACEPARENT}).text == TRACEPARENT
    assert client.get("/jobs/1", headers={"traceparent": "nonsense"}).text == "None"


class _ScriptedBus:
    """Answers what the test says; everything else is not called."""

    def __init__(self, *, away: bool = False) -> None:
        self._away = away

    async def publish(self, messages):
        if self._away:
            raise Unavailable("the bus is away")

    async def receive(self, subscription, *, limit, wait, tenants=None):
        return [
            Delivery(message=MESSAGE, lock_token=str(n), locked_until=START, delivery_count=n)
            for n in (1, 1, 2)
        ]

    async def settle(self, settlements):
        return [True, False, True]

    async def backlog(self):
        return {"ocr": 3}


async def test_bus_traffic_is_counted_by_outcome(metrics: Metrics) -> None:
    """Taken and refused, first and repeated, settled and lost: each is counted apart."""
    bus = ObservedBus(_ScriptedBus(), metrics.observe_bus)  # type: ignore[arg-type]
    await bus.publish([MESSAGE, MESSAGE])
    await bus.receive(Subscription(name="s", topics=("t",)), limit=3, wait=0)
    await bus.settle([Settle(lock_token="1", outcome=Settlement.COMPLETE)] * 3)
    away = ObservedBus(_ScriptedBus(away=True), metrics.observe_bus)  # type: ignore[arg-type]
    with pytest.raises(Unavailable):
        await away.publish([MESSAGE])
    counted = {
        (call, outcome): _value(metrics, "lucius_bus_messages_total", call=call, outcome=outcome)
        for call in ("publish", "receive", "settle")
        for outcome in ("ok", "failed", "redelivered", "lock_lost")
    }
    assert {key: count for key, count in counted.items() if count} == {
        ("publish", "ok"): 2, ("publish", "failed"): 1,
        ("receive", "ok"): 2, ("receive", "redelivered"): 1,
        ("settle", "ok"): 2, ("settle", "lock_lost"): 1,
    }  # fmt: skip


async def test_backlogs_come_from_ledger_and_bus_at_scrape_time(metrics: Metrics) -> None:
    """In-flight leaves paused jobs out and stands beside its limit."""

    class Counting:
        async def census(self, now, tenants=None):
            states = {"QUEUED": 2, "IN_PROGRESS": 3, "PAUSED": 4}
            return Census(by_state=states, at_work={}, unsent=1, due=6, dead_letters=7, due_lag_ms=1500)

    metrics.gauges("ledger", ledger_gauges(Counting(), clock=lambda: START, limit=lambda: 50))  # type: ignore[arg-type]
    metrics.gauges("bus", bus_gauges(_ScriptedBus()))  # type: ignore[arg-type]
    await metrics.exposition()
    assert _value(metrics, "lucius_jobs_in_flight") == 5
    assert _value(metrics, "lucius_jobs_in_flight_limit") == 50
    assert _value(metrics, "lucius_outbox_backlog") == 1
    assert _value(metrics, "lucius_due_backlog") == 6
    assert _value(metrics, "lucius_due_lag_seconds") == 1.5
    assert _value(metrics, "lucius_dead_letters") == 7
    assert _value(metrics, "lucius_jobs_open", state="PAUSED") == 4
    assert _value(metrics, "lucius_bus_backlog", subscription="ocr") == 3
