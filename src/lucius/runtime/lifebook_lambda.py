"""Lifebook runs on AWS Lambda: the worker behind its queue, and the duties once a minute.

The same worker as everywhere. A batch is answered message by message (`batchItemFailures`): what is done
with, the event source deletes; what must come back has been hidden for as long as it should be. Loop and
clients live as long as the execution environment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

import structlog
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType, process_partial_response

from lucius.errors import LuciusError
from lucius.lifebook.adapters.aws.queue import delivery_of
from lucius.lifebook.triggers.s3_drop import on_drop
from lucius.lifebook.worker.lines import about_message
from lucius.runtime import nature
from lucius.runtime.building.lifebook import Lifebook, open_lifebook
from lucius.runtime.building.watching import Watching, open_watching
from lucius.runtime.settings import Settings
from lucius.security.redaction import redact
from lucius.telemetry.logs import configure_logs

if TYPE_CHECKING:
    from aws_lambda_powertools.utilities.data_classes.sqs_event import SQSRecord
    from aws_lambda_powertools.utilities.typing import LambdaContext

FLUSH_SECONDS = 2.0
"""What a call may wait at its end for spans to be sent: the environment is frozen between two calls."""
_processor = BatchProcessor(event_type=EventType.SQS, raise_on_entire_batch_failure=False)
_log = structlog.get_logger("lucius.lifebook")


class ComesBackError(Exception):
    """The message is not done with."""


@cache
def _runner() -> asyncio.Runner:
    return asyncio.Runner()


@cache
def _settings() -> Settings:
    settings = Settings(lifebook_backend="aws", lifebook_concurrency=1)
    configure_logs(redact=redact, clock=nature.now_ms, level=settings.log_level, style="json")
    return settings


@cache
def _watching() -> Watching:
    return open_watching(_settings(), "lucius-lifebook-lambda")


@contextmanager
def _traced() -> Iterator[None]:
    try:
        yield
    finally:
        _runner().run(_watching().traces.flush(FLUSH_SECONDS))


@cache
def _lifebook() -> Lifebook:
    lifebook = _runner().run(open_lifebook(_settings(), _watching().runs))
    assert lifebook is not None  # noqa: S101 - the backend was just named
    return lifebook


def handle(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """One batch of messages of the queue."""
    with _traced():
        _lifebook()  # what cannot even start fails the call, so that the alarm on errors hears of it
        answer = process_partial_response(
            event=event,
            record_handler=_one,
            processor=_processor,
            context=context,
        )
    return dict(answer)


def duties(_event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Every duty until it has no more to do; one that cannot be done keeps no other, and fails the call."""
    with _traced():
        return _runner().run(_rounds(_lifebook()))


def drop(event: dict[str, Any], _context: LambdaContext) -> dict[str, Any]:
    """Runs for objects that were put into a bucket."""
    with _traced():
        created = _runner().run(on_drop(event, _lifebook().desk.create))
    return {"job_ids": [one.run.job_id for one in created]}


def _one(record: SQSRecord, lambda_context: LambdaContext) -> None:
    def time_left() -> float:
        return lambda_context.get_remaining_time_in_millis() / 1000

    delivery = delivery_of(_received(record))
    with about_message(delivery):
        try:
            done = _runner().run(_lifebook().worker.handle(delivery, time_left=time_left))
        except Exception as error:
            # The batch processor answers for it and says nothing.
            _log.error("message not judged", exc_info=error)
            raise
    if not done:
        raise ComesBackError(record.message_id)


def _received(record: SQSRecord) -> dict[str, Any]:
    """The message as a receive would have brought it: the event has other names for the same."""
    told = record.raw_event.get("messageAttributes") or {}
    return {
        "MessageId": record.message_id,
        "ReceiptHandle": record.receipt_handle,
        "Body": record.body,
        "Attributes": record.raw_event.get("attributes") or {},
        "MessageAttributes": {name: {"StringValue": one.get("stringValue")} for name, one in told.items()},
    }


async def _rounds(lifebook: Lifebook) -> dict[str, Any]:
    done: dict[str, Any] = {}
    put_off: list[LuciusError] = []
    for duty in lifebook.duties:
        try:
            report = await duty.run_once()
            acted = report.acted
            while report.more:
                report = await duty.run_once()
                acted += report.acted
            done[duty.name] = acted
        except LuciusError as error:
            _log.warning("duty put off", duty=duty.name, code=error.code, reason=error.message)
            put_off.append(error)
    if put_off:  # so that the alarm on this function's errors hears of it
        raise put_off[0]
    return done
