"""Jobs for telemetry tests, driven by the real core."""

from __future__ import annotations

from lucius.core import commands as cmd
from lucius.core.decide import Chance, decide, open_job
from lucius.core.events import Event
from lucius.core.job import Fault, Job, Order, Routing, StepResult
from lucius.core.protocol import Protocol, StepRecipe

START = 1_700_000_000_000
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
Change = tuple[Job, tuple[Event, ...]]


def order(job_id: str = "job-1", *, tenant_id: str = "acme", traceparent: str | None = None) -> Order:
    """An order for OCR, then SIS."""
    recipe = Protocol(
        protocol_id="ocr-sis",
        version="1",
        request_type="OCR_SIS",
        steps=tuple(
            StepRecipe(step_id=name.lower(), step_type=name, service=f"{name.lower()}-svc", jitter=0)
            for name in ("OCR", "SIS")
        ),
    )
    routing = Routing(
        mode="DEFAULT", lane=3, routing_key_used=tenant_id, topic="global-bus-p3",
        reply_topic="global-bus-replies-p3", decision_source="REQUEST", decision_reason="asked",
    )  # fmt: skip
    return Order(
        job_id=job_id, tenant_id=tenant_id, request_type="OCR_SIS", protocol=recipe, routing=routing,
        input_ref={"uri": "s3://in/a"}, output_ref={"uri": "s3://out/a"}, workspace_ref={"uri": "s3://w/"},
        payload={}, schema_version="1", accepted_at=START, idempotency_hash="h", correlation_id="corr-9",
        traceparent=traceparent,
    )  # fmt: skip


class Story:
    """A job that remembers every change, as a ledger's listener would hear of them."""

    def __init__(self, asked: Order) -> None:
        opened = open_job(asked, Chance(lease_id="lease-0"))
        self.job, self.now = opened.job, START
        self.changes: list[Change] = [(opened.job, opened.events)]

    def then(self, command: cmd.Command, after: int = 100) -> Story:
        """`after` milliseconds later, this."""
        self.now += after
        decision = decide(self.job, command, self.now, Chance(lease_id=f"lease-{self.now - START}"))
        self.job = decision.job
        self.changes.append((decision.job, decision.events))
        return self

    def _ids(self, step_id: str) -> tuple[str, int, str]:
        step = self.job.step(step_id)
        assert step is not None
        assert step.attempt is not None
        return step_id, step.attempt.attempt_no, step.attempt.lease_id

    def published(self, step_id: str, after: int = 100) -> Story:
        """The bus has it."""
        step, no, _lease = self._ids(step_id)
        return self.then(cmd.Published(step_id=step, attempt_no=no), after)

    def acked(self, step_id: str, after: int = 100) -> Story:
        """A service has it."""
        step, no, lease = self._ids(step_id)
        return self.then(cmd.Ack(step_id=step, attempt_no=no, lease_id=lease), after)

    def result(
        self, step_id: str, status: str = "SUCCEEDED", code: str | None = None, after: int = 100
    ) -> Story:
        """A service is done."""
        step, no, lease = self._ids(step_id)
        error = Fault(code=code, message="said the service") if code else None
        report = StepResult(status=status, output_ref={"uri": "s3://w/o"}, error=error)
        return self.then(cmd.Result(step_id=step, attempt_no=no, lease_id=lease, result=report), after)


def succeeded(job_id: str = "job-1", *, tenant_id: str = "acme", traceparent: str | None = None) -> Story:
    """A job that just works."""
    story = Story(order(job_id, tenant_id=tenant_id, traceparent=traceparent))
    for step_id in ("ocr", "sis"):
        story.published(step_id).acked(step_id).result(step_id)
    return story
