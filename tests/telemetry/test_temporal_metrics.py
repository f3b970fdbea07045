"""What the temporal engine counts and says."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from lucius.adapters.observed_invoker import ObservedInvoker
from lucius.core.job import Job
from lucius.engines.temporal import messages as msg
from lucius.engines.temporal.connection import Whereabouts, connect
from lucius.engines.temporal.observed import ObservedSignals, ObservedStarts
from lucius.engines.temporal.sdk_metrics import sdk_runtime
from lucius.engines.temporal.signalling import NEVER
from lucius.engines.temporal.task_queue import TaskQueueFigures
from lucius.engines.temporal.worker import build_worker
from lucius.errors import Invalid, LuciusError, NotFound, Unavailable
from lucius.ports.duties import Report
from lucius.telemetry.catalogue import METRICS
from lucius.telemetry.gauges import temporal_gauges
from lucius.telemetry.metrics import Metrics
from lucius.testing.processes import free_port
from lucius.testing.temporal import TemporalServer
from tests.invoker.world import NO_TLS, Recorder, calls
from tests.telemetry.jobs import START, Story, order

JOB = Story(order()).job
ACK = msg.StepAck(
    jobId=JOB.job_id, stepId="ocr", attempt_no=1, lease_id="l",
    told=msg.Told(version=1, state=JOB.state, at=START),
)  # fmt: skip


class Scripted:
    """Starts and signals that answer, or raise, what they are told to."""

    def __init__(self) -> None:
        self.answer: Any = True

    async def start(self, _job: Job) -> bool:
        """As told."""
        return bool(self._said())

    async def tell(self, _job_id: str, _signal: msg.Signal) -> bool:
        """As told."""
        return bool(self._said())

    async def nudge(self, _job_id: str) -> bool:
        """As told."""
        return bool(self._said())

    async def cancel(self, _job_id: str) -> bool:
        """As told."""
        return bool(self._said())

    async def ending(self, _job_id: str) -> str | None:
        """As told."""
        said: str | None = self._said()
        return said

    def _said(self) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


async def found(job_id: str) -> Job | None:
    """The only job there is."""
    return JOB if job_id == JOB.job_id else None


@pytest.fixture
def metrics() -> Metrics:
    """At zero."""
    return Metrics(clock=lambda: START, version="1")


async def shown(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    """The samples of a family as a scrape sees them, by the values of their labels."""
    text = (await metrics.exposition())[0].decode()
    (metric,) = (each for each in METRICS if name.startswith(each.name))
    return {
        tuple(sample.labels[label] for label in metric.labels): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


async def test_starts_are_counted_by_outcome(metrics: Metrics) -> None:
    """Started, found running, or not reached: each start is one of them, timed, and answers as it did."""
    inner = Scripted()
    starts = ObservedStarts(inner, metrics.observe_start)
    assert await starts.start(JOB) is True
    inner.answer = False
    assert await starts.start(JOB) is False
    inner.answer = Unavailable("away")
    with pytest.raises(Unavailable):
        await starts.start(JOB)
    counted = await shown(metrics, "lucius_workflow_starts_total")
    assert counted == {("started",): 1, ("existing",): 1, ("unavailable",): 1}
    assert await shown(metrics, "lucius_temporal_call_seconds_count") == {("start",): 3}


async def test_a_lost_start_that_is_repaired_has_a_line(metrics: Metrics) -> None:
    """Only who looks for lost starts says what it started, with the job's ids."""
    inner = Scripted()
    starts = ObservedStarts(inner, metrics.observe_start)
    with capture_logs() as lines:
        await starts.start(JOB)
        await starts.for_repairs().start(JOB)
        inner.answer = False
        await starts.for_repairs().start(JOB)
    (line,) = lines
    assert (line["event"], line["jobId"], line["tenant_id"]) == ("lost workflow started", "job-1", "acme")


async def test_signals_are_counted_by_name_and_outcome(metrics: Metrics) -> None:
    """Delivered, nobody there, Temporal away: each signal is one of them, under its own name."""
    inner = Scripted()
    signals = ObservedSignals(inner, metrics.observe_signal, found)
    assert await signals.tell(JOB.job_id, ACK)
    inner.answer = False
    assert not await signals.tell(JOB.job_id, ACK)
    assert not await signals.cancel(JOB.job_id)
    inner.answer = Unavailable("away")
    with pytest.raises(Unavailable):
        await signals.nudge(JOB.job_id)
    assert await shown(metrics, "lucius_workflow_signals_total") == {
        ("step_ack", "delivered"): 1,
        ("step_ack", "no_workflow"): 1,
        ("cancel", "no_workflow"): 1,
        ("nudge", "unavailable"): 1,
    }


async def test_repairs_by_signal_have_a_line(metrics: Metrics) -> None:
    """A nudge that was heard and a workflow that closed early are told with ids, and nothing else is."""
    inner = Scripted()
    signals = ObservedSignals(inner, metrics.observe_signal, found)
    with capture_logs() as lines:
        await signals.tell(JOB.job_id, ACK)
        await signals.nudge(JOB.job_id)
        inner.answer = "was terminated"
        assert await signals.ending("unknown") == "was terminated"
        for ending in (None, NEVER):
            inner.answer = ending
            assert await signals.ending(JOB.job_id) == ending
    nudged, closed = lines
    assert (nudged["event"], nudged["tenant_id"]) == ("workflow nudged", "acme")
    assert (closed["log_level"], closed["ending"], closed["jobId"]) == (
        "warning",
        "was terminated",
        "unknown",
    )


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (None, "ok"),
        (Unavailable("bus"), "unavailable"),
        (NotFound("job"), "refused"),
        (KeyError("bug"), "failed"),
    ],
)
async def test_calls_of_the_invoker_are_counted(
    metrics: Metrics, error: Exception | None, outcome: str
) -> None:
    """Every call of the port is one outcome, and what the invoker answers or raises comes through."""
    inner = Recorder()
    inner.error = error
    asked = calls(ObservedInvoker(inner, metrics.observe_invoker))
    for call in asked.values():
        try:
            assert await call() is not False
        except (LuciusError, KeyError) as raised:
            assert raised is error  # noqa: PT017
    counted = await shown(metrics, "lucius_invoker_calls_total")
    assert counted == {(name, outcome): 1 for name in asked}
    assert [call[0] for call in inner.calls] == list(asked)


async def test_repairs_of_drift_are_counted_by_kind(metrics: Metrics) -> None:
    """What duties put right is counted, what they only looked at is not; the last round is kept."""
    metrics.observe_report(Report(duty="lost-starts", acted=2, details={"looked": 5, "started": 2}))
    metrics.observe_report(
        Report(duty="drift-overdue", acted=4, details={"due": 9, "nudged": 3, "closed": 1})
    )
    metrics.observe_report(Report(duty="drift-workflows", acted=1, details={"open": 7, "left_open": 1}))
    last = Report(duty="drift-overdue", details={"due": 0})
    metrics.observe_report(last)
    assert await shown(metrics, "lucius_drift_repairs_total") == {
        ("lost_start",): 2,
        ("nudged",): 3,
        ("closed",): 1,
        ("left_open",): 1,
    }
    assert (await shown(metrics, "lucius_reconciler_actions_total"))["drift-overdue", "acted"] == 4
    assert (metrics.rounds()["drift-overdue"].report, metrics.rounds()["drift-overdue"].at) == (last, START)


async def test_a_server_that_is_away_is_a_zero(metrics: Metrics) -> None:
    """While Temporal is away the gauge says so, and nobody waits for it to describe a queue."""

    async def unreachable() -> Any:
        raise AssertionError

    metrics.gauges("temporal", temporal_gauges(lambda: False, unreachable))
    assert await shown(metrics, "lucius_temporal_up") == {(): 0}
    assert await shown(metrics, "lucius_temporal_backlog") == {}
    assert await shown(metrics, "lucius_telemetry_errors_total") == {}


async def test_what_waits_for_a_worker_is_told_by_a_real_server(
    metrics: Metrics, temporal: TemporalServer
) -> None:
    """Workers that serve the queue are seen, and so is Temporal's SDK where it was asked to show itself."""
    address = f"127.0.0.1:{free_port()}"
    runtime = sdk_runtime(address, json=True)
    where = Whereabouts(address=temporal.address)
    client = await connect(where, lazy=False, runtime=runtime)
    metrics.gauges("temporal", temporal_gauges(lambda: True, TaskQueueFigures(client, "figures")))
    async with build_worker(client, Recorder(), task_queue="figures", drain_seconds=0):
        async with asyncio.timeout(30):
            while (await shown(metrics, "lucius_temporal_workers")) != {("workflow",): 1, ("activity",): 1}:
                pass  # each look asks the server
        async with httpx2.AsyncClient(trust_env=False, verify=NO_TLS) as http:
            text = (await http.get(f"http://{address}/metrics")).text
    assert await shown(metrics, "lucius_temporal_up") == {(): 1}
    assert await shown(metrics, "lucius_temporal_backlog") == {("workflow",): 0, ("activity",): 0}
    assert "temporal_num_pollers" in text
    with pytest.raises(Invalid, match="cannot be served"):
        sdk_runtime(address, json=True)
