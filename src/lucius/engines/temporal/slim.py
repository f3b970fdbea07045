"""What a workflow need not know: documents' payloads, where services write, what they wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

if TYPE_CHECKING:
    from lucius.core.job import Order, Standing, Step
    from lucius.core.protocol import Protocol


def slim_order(order: Order) -> Order:
    """The order as far as decisions need it. Payloads stay in the ledger."""
    return replace(
        order, payload={}, input_ref={}, workspace_ref={}, extensions={}, callback_urls=(),
        protocol=_slim_protocol(order.protocol), idempotency_key=None,
        inherited=tuple(replace(result, artifacts=()) for result in order.inherited),
    )  # fmt: skip


def slim_standing(standing: Standing) -> Standing:
    """How the job stands, without artifacts and words of progress."""
    return replace(standing, steps=tuple(_slim_step(step) for step in standing.steps))


def _slim_protocol(protocol: Protocol) -> Protocol:
    steps = tuple(replace(step, payload_schema={}) for step in protocol.steps)
    return replace(protocol, steps=steps, description="", aliases=())


def _slim_step(step: Step) -> Step:
    result = step.result
    if result is not None and result.artifacts:
        step = replace(step, result=replace(result, artifacts=()))
    return replace(step, progress=None, progress_message=None) if step.progress_message else step
