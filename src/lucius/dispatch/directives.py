"""The bytes of a directive: made once, stored beside the attempt, sent as often as it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core.payloads import section_of
from lucius.core.states import StepState
from lucius.ports.ledger import OutboxRow
from lucius.wire.messages import DirectiveMessage, encode
from lucius.wire.timestamps import iso

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lucius.core.job import Attempt, Job, Ref


def message_id(job_id: str, step_index: int, attempt_no: int) -> str:
    """The same for every publishing of one attempt."""
    return f"{job_id}.{step_index}.{attempt_no}"


def clients_span(job: Job, _step_id: str, _attempt_no: int) -> str | None:
    """The span a directive names when nobody traces here: the client's own."""
    return job.order.traceparent


class Directives:
    """Renders directives. `mint` makes the callback token of an attempt, `span` its traceparent."""

    def __init__(
        self,
        mint: Callable[[Job, str, Attempt], str],
        callback_urls: Mapping[str, str],
        *,
        span: Callable[[Job, str, int], str | None] = clients_span,
    ) -> None:
        self._mint = mint
        self._callback_urls = dict(callback_urls)
        self._span = span

    def __call__(self, job: Job, index: int) -> OutboxRow:
        """The outbox row of the current attempt at a step."""
        order, step = job.order, job.steps[index]
        recipe, attempt = order.protocol.steps[index], step.attempt
        assert attempt is not None  # noqa: S101  an outbox row is only made for an attempt just created
        routing = order.routing
        body = encode(
            DirectiveMessage(
                job_id=order.job_id,
                step_id=step.step_id,
                tenant_id=order.tenant_id,
                attempt_no=attempt.attempt_no,
                lease_id=attempt.lease_id,
                protocol_id=order.protocol.protocol_id,
                step_type=recipe.step_type,
                input_ref=order.input_ref,
                workspace_ref=order.workspace_ref,
                output_ref=order.output_ref,
                payload=section_of(order.payload, order.protocol, step.step_id),
                mode=routing.mode,
                lane=routing.lane,
                routing_key_used=routing.routing_key_used,
                correlation_id=order.correlation_id or order.job_id,
                traceparent=self._span(job, step.step_id, attempt.attempt_no),
                schema_version=order.schema_version,
                inputs=_inputs(job, index),
                lease_expires_at=iso(attempt.lease_expires_at),
                callback_urls=self._callback_urls or None,
                callback_token=self._mint(job, step.step_id, attempt),
            )
        )
        return OutboxRow(
            message_id=message_id(order.job_id, index, attempt.attempt_no),
            job_id=order.job_id,
            tenant_id=order.tenant_id,
            step_id=step.step_id,
            step_index=index,
            attempt_no=attempt.attempt_no,
            lease_id=attempt.lease_id,
            subject=recipe.step_type,
            topic=routing.topic,
            lane=routing.lane,
            mode=routing.mode,
            priority=order.priority,
            body=body,
            created_at=attempt.created_at,
        )


def _inputs(job: Job, index: int) -> dict[str, Ref]:
    """Where earlier steps left their accepted output: a service is told, it never guesses."""
    return {
        step.step_id: step.result.output_ref
        for step in job.steps[:index]
        if step.state is StepState.SUCCEEDED
        and step.result is not None
        and step.result.output_ref is not None
    }
