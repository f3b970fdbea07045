"""Spans of moments in a workflow, each written once. Only loaded when tracing is on.

A task of a workflow that Temporal did not take, because something new had come in, is run again, and not as
a replay: its moments happen twice. Their ids are computed from what they stand for, so the second one is
seen here, and anywhere else it has at least the same id.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, SpanKind, Tracer, get_current_span

from lucius.telemetry.spans import OwnIds, span_id_of

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Link
    from opentelemetry.util.types import Attributes

KEPT = 10_000
"""Moments that are remembered; a task is run again within seconds."""
RUN = "temporalRunID"


class MomentTracer(Tracer):
    """A tracer that knows moments of a run by what they stand for. Any thread."""

    def __init__(self, tracer: Tracer, ids: OwnIds) -> None:
        self._tracer = tracer
        self._ids = ids
        self._written: dict[int, None] = {}
        self._lock = threading.Lock()

    def start_span(  # noqa: PLR0917 as there
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        start_time: int | None = None,
        record_exception: bool = True,  # noqa: FBT001, FBT002 as there
        set_status_on_exception: bool = True,  # noqa: FBT001, FBT002 as there
    ) -> Span:
        """A span; of a moment that is written already, one that goes nowhere."""
        more: dict[str, Any] = {
            "kind": kind, "attributes": attributes, "links": links, "start_time": start_time,
            "record_exception": record_exception, "set_status_on_exception": set_status_on_exception,
        }  # fmt: skip
        run = (attributes or {}).get(RUN)
        if run is None or start_time is None:
            return self._tracer.start_span(name, context, **more)
        followed = [link.context.span_id for link in links or ()]
        # One signal of a name may follow the other without a span of its own to tell them apart.
        unlinked = start_time if name.startswith("HandleSignal") and not followed else ""
        span_id = span_id_of(run, name, unlinked, *followed)
        if self._known(span_id):
            above = get_current_span(context).get_span_context()
            return NonRecordingSpan(
                SpanContext(above.trace_id, span_id, is_remote=False, trace_flags=above.trace_flags)
            )
        self._ids.follow(span_id)
        return self._tracer.start_span(name, context, **more)

    def start_as_current_span(self, *given: Any, **more: Any) -> Any:
        """As the inner tracer: what lasts is no moment."""
        return self._tracer.start_as_current_span(*given, **more)

    def _known(self, span_id: int) -> bool:
        with self._lock:
            if span_id in self._written:
                return True
            self._written[span_id] = None
            if len(self._written) > KEPT:
                del self._written[next(iter(self._written))]
            return False
