"""The baseline of the temporal engine: three steps as a good engineer would write them by hand.

Every step is one activity over HTTP to a service in another process, which hands the step to an echo. The
echo answers with two signals, `step_ack` and `step_result`, right after each other. The workflow waits for
both with a timeout each (`wait_condition`), and goes on to the next step. Nothing else: no ledger, no bus,
no leases, no retries of a step, no pause, no events to follow, and nothing survives but the history.

What makes it fair: the same server in the same run; one front process and one worker process, as Lucius
has; the worker's settings are ours; jobs come in over HTTP from the same generator; payloads are dataclasses
in Temporal's own JSON; its echo sends as quickly as ours. What it does not do is the price to be seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from temporalio import workflow
from temporalio.common import RetryPolicy

STEPS = ("ocr", "embedding", "sis")
PATIENT = RetryPolicy(initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=10))
CALL = timedelta(seconds=15)
ACK_WITHIN = timedelta(seconds=60)
RESULT_WITHIN = timedelta(minutes=15)


@dataclass
class Order:
    """What was submitted."""

    job_id: str
    tenant_id: str
    request_type: str
    input_uri: str
    output_uri: str
    steps: list[str]


@dataclass
class Directive:
    """What a service is to do."""

    job_id: str
    tenant_id: str
    step_id: str
    input_uri: str


@dataclass
class Ack:
    """Signal: a service has picked it up."""

    step_id: str


@dataclass
class Result:
    """Signal: a service is done."""

    step_id: str
    status: str
    output_uri: str


@workflow.defn(name="BareJob")
class BareJob:
    """One step after the other."""

    @workflow.init
    def __init__(self, order: Order) -> None:
        self._order = order
        self._acked: set[str] = set()
        self._results: dict[str, Result] = {}

    @workflow.run
    async def run(self, order: Order) -> str:
        """The last output."""
        output = order.input_uri
        for step in order.steps:
            directive = Directive(
                job_id=order.job_id, tenant_id=order.tenant_id, step_id=step, input_uri=output
            )
            await workflow.execute_activity(
                "publish", directive, start_to_close_timeout=CALL, retry_policy=PATIENT
            )
            output = await self._outcome(step)
        return output

    @workflow.signal
    def step_ack(self, ack: Ack) -> None:
        """Picked up."""
        self._acked.add(ack.step_id)

    @workflow.signal
    def step_result(self, result: Result) -> None:
        """Done; whoever is done has picked it up."""
        self._acked.add(result.step_id)
        self._results[result.step_id] = result

    async def _outcome(self, step: str) -> str:
        try:
            await workflow.wait_condition(lambda: step in self._acked, timeout=ACK_WITHIN)
            await workflow.wait_condition(lambda: step in self._results, timeout=RESULT_WITHIN)
        except TimeoutError as error:
            message = f"{step} of {self._order.job_id} was not heard of"
            raise RuntimeError(message) from error
        result = self._results[step]
        if result.status != "SUCCEEDED":
            message = f"{step} of {self._order.job_id} ended as {result.status}"
            raise RuntimeError(message)
        return result.output_uri
