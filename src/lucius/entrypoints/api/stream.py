"""Events as they happen: server-sent events over one job's story.

Each event carries its number as `id`, so a client that comes back with `Last-Event-ID` misses nothing
and sees nothing twice. A comment goes out when nothing has happened for a while. The stream ends after
the job's last word; whoever comes back after that gets 204, which tells a browser to stop asking.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import msgspec
from fastapi import Response
from starlette.responses import StreamingResponse

from lucius.errors import Invalid, Problem
from lucius.security.redaction import redact
from lucius.wire.views import event_view

if TYPE_CHECKING:
    from lucius.core.events import Event
    from lucius.core.job import Job
    from lucius.usecases.query import Query

MEDIA_TYPE = "text/event-stream"
BEAT = 15.0
_RETRY = b"retry: 2000\n\n"
_COMMENT = b": still here\n\n"
_LONGEST = 18


def wants_stream(accept: str | None) -> bool:
    """Whether a client asks for server-sent events."""
    kinds = [part.split(";")[0].strip().lower() for part in (accept or "").split(",")]
    return MEDIA_TYPE in kinds


def last_event_id(text: str | None) -> int | None:
    """The number in a `Last-Event-ID` header."""
    if text is None or not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST):
        message = "Last-Event-ID must be the id of an event of this job."
        problem = Problem(pointer="/header/Last-Event-ID", code="INVALID_LAST_EVENT_ID", message=message)
        raise Invalid(message, code=problem.code, problems=(problem,))
    return int(text)


async def stream(query: Query, job: Job, *, after: int, resumed: bool) -> Response:
    """The answer that follows a job from `after` on."""
    if resumed and job.terminal and job.version <= after:
        return Response(status_code=204)
    pages = query.follow(job, after=after, beat=BEAT)
    return StreamingResponse(_lines(pages), media_type=MEDIA_TYPE, headers={"x-accel-buffering": "no"})


async def _lines(pages: AsyncIterator[list[Event]]) -> AsyncIterator[bytes]:
    yield _RETRY
    async for page in pages:
        yield b"".join(map(_line, page)) if page else _COMMENT


def _line(event: Event) -> bytes:
    shown = event_view(event, redact)
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (
        event.seq,
        shown["type"].encode(),
        msgspec.json.encode(shown),
    )
