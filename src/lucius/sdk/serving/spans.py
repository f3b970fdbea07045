"""A span round the work of each attempt, child of the span its directive names. Off unless configured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lucius.wire.messages import DirectiveMessage, ResultMessage

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider


class WorkSpan:
    """The span of one attempt, or nothing."""

    def __init__(self, span: Any = None) -> None:
        self._span = span

    def ended(self, result: ResultMessage) -> None:
        """Note how the work ended."""
        if self._span is None:
            return
        self._span.set_attribute("lucius.status", result.status)
        if result.error is not None:
            from opentelemetry.trace import Status, StatusCode  # noqa: PLC0415 only who traces loads it

            self._span.set_attribute("error.type", result.error.code)
            self._span.set_status(Status(StatusCode.ERROR, result.error.code))


class Spans:
    """Where spans go: to a provider, or nowhere."""

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._provider = provider

    @contextmanager
    def attempt(self, directive: DirectiveMessage) -> Iterator[WorkSpan]:
        """A span while the work runs; libraries that trace see it as their parent."""
        if self._provider is None:
            yield WorkSpan()
            return
        from opentelemetry.trace import SpanKind, use_span  # noqa: PLC0415 as above

        from lucius.telemetry.spans import context_of  # noqa: PLC0415 as above

        span = self._provider.get_tracer("lucius.service").start_span(
            f"{directive.step_type} execute",
            context_of(directive.traceparent),
            kind=SpanKind.CONSUMER,
            attributes={
                "lucius.job_id": directive.job_id,
                "lucius.step_id": directive.step_id,
                "lucius.tenant_id": directive.tenant_id,
                "lucius.attempt_no": directive.attempt_no,
            },
        )
        with use_span(span, end_on_exit=True):
            yield WorkSpan(span)

    def close(self) -> None:
        """Send what waits."""
        if self._provider is not None:
            self._provider.shutdown()
