"""Log lines: one JSON object a line on stderr, or coloured text when a terminal asks for it.

State: structlog's configuration and the root logger's one handler, both set once by
`configure_logs`. Lines of the standard library (uvicorn included) go through the same steps as
ours: ids from the context, time, redaction, rendering. A line below the level costs one method call
that does nothing; a line that cannot be rendered is printed as its repr and never raises.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Literal, TextIO

import orjson
import structlog

from lucius.core.job import Job, Step

Style = Literal["auto", "json", "console"]
EventDict = MutableMapping[str, Any]
Processor = Callable[[Any, str, EventDict], Any]
#: Fields every line about a job may carry, in the spelling of the messages.
IDS = ("jobId", "stepId", "tenant_id", "attempt_no", "lease_id", "correlation_id")
#: One line a request, in and out; and what Temporal's SDK says of a stop that we have told already.
_CHATTY = ("uvicorn.access", "httpx2", "temporalio.worker")
#: These bring handlers of their own; their lines go through ours instead.
_FOREIGN = ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio", "apsw")


def ids_of(job: Job, step: Step | None = None) -> dict[str, str | int]:
    """The ids of a job, and of a step's current attempt, as log fields."""
    ids: dict[str, str | int] = {"jobId": job.order.job_id, "tenant_id": job.order.tenant_id}
    if job.order.correlation_id:
        ids["correlation_id"] = job.order.correlation_id
    if step is not None:
        ids["stepId"] = step.step_id
        if step.attempt is not None:
            ids["attempt_no"] = step.attempt.attempt_no
            ids["lease_id"] = step.attempt.lease_id
    return ids


@contextmanager
def bound(**ids: str | int | None) -> Iterator[None]:
    """Every line written inside, here or in tasks started here, carries these ids."""
    known = {name: value for name, value in ids.items() if value is not None}
    with structlog.contextvars.bound_contextvars(**known):
        yield


def configure_logs(
    *,
    redact: Callable[[Any], Any],
    clock: Callable[[], int],
    level: str = "info",
    style: Style = "auto",
    stream: TextIO | None = None,
) -> None:
    """Send all log lines of this process through one pipeline. Call once, before anything logs."""
    out = stream or sys.stderr
    number = logging.getLevelNamesMapping()[level.upper()]
    console = style == "console" or (style == "auto" and out.isatty())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        _Stamp(clock),
        structlog.processors.StackInfoRenderer(),
    ]
    # Exceptions become text before redaction, so that a secret in a traceback is found too.
    ending: list[Processor] = [
        structlog.processors.format_exc_info,
        _Redaction(redact),
        _renderer(out, console=console),
    ]
    structlog.configure(
        processors=[*shared, *ending],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(out),
        cache_logger_on_first_use=True,
    )
    _route_standard_logs(number, out, shared, ending)


def _route_standard_logs(level: int, out: TextIO, shared: list[Processor], ending: list[Processor]) -> None:
    handler = logging.StreamHandler(out)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                *shared,
                structlog.stdlib.add_logger_name,
                structlog.stdlib.ExtraAdder(),
                _without_colours,
            ],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *ending],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(level, logging.INFO))
    for name in _FOREIGN:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.NOTSET)
    # One line a request is the hot path: only who asks for debug gets it.
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.INFO if level <= logging.DEBUG else logging.WARNING)


def _without_colours(_logger: Any, _method: str, line: EventDict) -> EventDict:
    """Uvicorn adds its message once more, with escape codes."""
    line.pop("color_message", None)
    return line


class _Stamp:
    """Adds the time, ISO-8601 UTC with milliseconds."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock

    def __call__(self, _logger: Any, _method: str, line: EventDict) -> EventDict:
        moment = datetime.fromtimestamp(self._clock() / 1000, UTC)
        line["timestamp"] = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return line


class _Redaction:
    """Takes secrets out of a line; a line that cannot be searched is not shown."""

    def __init__(self, redact: Callable[[Any], Any]) -> None:
        self._redact = redact

    def __call__(self, _logger: Any, _method: str, line: EventDict) -> EventDict:
        try:
            redacted: EventDict = self._redact(dict(line))
        except Exception as error:  # noqa: BLE001 logging never raises into the caller
            return {
                "event": "log line withheld: redaction failed",
                "level": "error",
                "error": type(error).__name__,
            }
        return redacted


def _renderer(out: TextIO, *, console: bool) -> Processor:
    if console:
        return structlog.dev.ConsoleRenderer(
            colors=out.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    return _json


def _json(_logger: Any, _method: str, line: EventDict) -> str:
    try:
        return orjson.dumps(line, default=repr, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:  # half a surrogate pair, or a number beyond 64 bits
        return json.dumps({str(name): repr(value) for name, value in line.items()})
