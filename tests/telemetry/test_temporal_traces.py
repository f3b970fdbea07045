"""One trace for a job, through three processes and Temporal."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from temporalio.worker import Interceptor, Replayer

from lucius.core.job import Job
from lucius.engines.temporal.converter import DATA_CONVERTER
from lucius.engines.temporal.tracing import interceptors
from lucius.engines.temporal.worker import SANDBOX
from lucius.engines.temporal.workflow import JobWorkflow
from lucius.telemetry.spans import parse
from lucius.telemetry.traces import NoTraces, Traces
from lucius.testing.temporal import TemporalServer
from tests.telemetry.collector import Collector, collecting
from tests.telemetry.jobs import TRACEPARENT
from tests.telemetry.temporal_processes import Processes, open_for

ADVANCE = "POST /v1/internal/steps/advance"
INGRESS = "POST /v1/orchestrate"


@pytest.fixture
def collector() -> Iterator[Collector]:
    """Where spans go."""
    with collecting() as running:
        yield running


async def opened(here: Processes, traces: Traces) -> Job:
    """A job that came in by a traced request."""
    with traces.ingress("POST", TRACEPARENT, lambda: "/v1/orchestrate") as traceparent:
        return await here.opened(traceparent=traceparent)


async def served(here: Processes, job: Job) -> list[str | None]:
    """Play the services until the job is over; the traceparents of the directives."""
    seen = []
    for _ in job.steps:
        directive = await here.take()
        seen.append(directive.traceparent)
        await here.ack(directive)
        await here.deliver(directive)
    await asyncio.wait_for(here.client.get_workflow_handle(job.job_id).result(), 30)
    return seen


async def test_a_job_is_one_trace(temporal: TemporalServer, tmp_path: Path, collector: Collector) -> None:
    """From ingress to result there is one trace, each span below its cause, none written twice."""
    here = Processes(temporal, tmp_path, collector.endpoint)
    async with here.at_work(cached=0):  # every task of the workflow replays what went before
        job = await opened(here, here.orchestrator)
        carried = await served(here, job)
    await here.close_traces()
    client = parse(TRACEPARENT)
    assert client is not None
    assert {span.trace_id for span in collector.spans} == {f"{client.trace_id:032x}"}
    steps, names = len(job.steps), collector.names()
    assert (names["StartWorkflow:LuciusJob"], names["RunWorkflow:LuciusJob"]) == (1, 1)
    assert names["CompleteWorkflow:LuciusJob"] == 1
    for signal in ("step_ack", "step_result"):
        assert names[f"SignalWorkflow:{signal}"] == names[f"HandleSignal:{signal}"] == steps
        assert {name.split()[0] for name in collector.parents(f"SignalWorkflow:{signal}")} == {"step"}
    assert names["RunActivity:advance"] == names[ADVANCE] >= steps
    assert collector.parents("StartWorkflow:LuciusJob") == {INGRESS}
    assert collector.parents("RunWorkflow:LuciusJob") == {"StartWorkflow:LuciusJob"}
    assert collector.parents("RunActivity:advance") == {"StartWorkflow:LuciusJob"}
    assert collector.parents(ADVANCE) == {"RunActivity:advance"}
    attempts = {span.span_id for span in collector.spans if span.name.startswith("step ")}
    assert {f"{span.span_id:016x}" for each in carried if (span := parse(each))} == attempts
    by_service = {span.name.split(":")[0]: span.service for span in collector.spans}
    assert by_service["StartWorkflow"] == "orchestrator"
    assert by_service["SignalWorkflow"] == by_service[ADVANCE] == "invoker"
    assert by_service["RunWorkflow"] == by_service["RunActivity"] == "worker"


async def test_a_late_start_a_foreign_reply_and_a_nudge_make_no_trace_of_their_own(
    temporal: TemporalServer, tmp_path: Path, collector: Collector
) -> None:
    """Who starts or tells a workflow does it in the job's trace, or in none if there was nothing to do."""
    here = Processes(temporal, tmp_path, collector.endpoint)
    other = "00-11111111111111111111111111111111-2222222222222222-01"
    async with here.at_work():
        order = here.order(traceparent=TRACEPARENT)
        with here.orchestrator.below(other):
            job = (await here.open(order)).job
            assert not await here.starts.start(job)
            directive = await here.take()
            await here.report(directive)
        assert await here.signals.nudge(job.job_id)
        for _ in job.steps[1:]:
            await here.report(await here.take())
        handle = here.client.get_workflow_handle(job.job_id)
        await asyncio.wait_for(handle.result(), 30)
        history = await handle.fetch_history()
    await here.close_traces()
    mine = parse(TRACEPARENT)
    assert mine is not None
    temporals = [span for span in collector.spans if "Workflow:" in span.name or "Activity:" in span.name]
    assert {span.trace_id for span in temporals} == {f"{mine.trace_id:032x}"}
    names = collector.names()
    assert names["StartWorkflow:LuciusJob"] == 1
    assert names["SignalWorkflow:step_result"] == len(job.steps)
    assert "SignalWorkflow:nudge" not in names
    replaying = open_for(collector.endpoint, "replay")
    found = await Replayer(
        workflows=[JobWorkflow],
        data_converter=DATA_CONVERTER,
        workflow_runner=SANDBOX,
        interceptors=[each for each in interceptors(replaying) if isinstance(each, Interceptor)],
    ).replay_workflow(history)
    await replaying.close()
    assert found.replay_failure is None
    assert [span for span in collector.spans if span.service == "replay"] == []


def test_without_an_endpoint_nothing_is_intercepted() -> None:
    """Whoever does not trace pays nothing for it."""
    assert interceptors(NoTraces()) == []
