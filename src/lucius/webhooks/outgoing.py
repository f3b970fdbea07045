"""Which deliveries a decision gives birth to. Pure, and free for jobs that name no URL."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lucius.core.events import Event, JobResumed, StepAcknowledged
from lucius.core.job import Job
from lucius.core.states import JobState
from lucius.ports.deliveries import NewDelivery
from lucius.webhooks.payload import body_of, event_type, message_id, notifies

_FRESH = frozenset({JobState.QUEUED, JobState.DISPATCHING})
_TOKEN_LIKE = re.compile(r"[^/]{16,}")
#: Never fails: a commit must not hang on a URL, however it got past the door.
_PARTS = re.compile(
    r"(?P<scheme>[^:/]*)(?::/*)?(?:[^/?#]*@)?(?P<host>[^/?#]*)(?P<path>[^?#]*)(?P<rest>.*)", re.DOTALL
)


def deliveries_for(before: Job | None, job: Job, events: Sequence[Event]) -> tuple[NewDelivery, ...]:
    """The rows to insert beside these events; `before` is the job they were decided on, None if new."""
    if not job.order.callback_urls:
        return ()
    urls = tuple(dict.fromkeys(job.order.callback_urls))
    return tuple(
        _row(job, event, body, url_no, url)
        for event, body in _told(before, job, events)
        for url_no, url in enumerate(urls)
    )


def _told(before: Job | None, job: Job, events: Sequence[Event]) -> list[tuple[Event, bytes]]:
    fresh = before is None or before.state in _FRESH
    told: list[tuple[Event, bytes]] = []
    for event in events:
        if not notifies(event) or (isinstance(event, StepAcknowledged) and not fresh):
            continue
        told.append((event, body_of(job, event)))
        if isinstance(event, JobResumed):
            fresh = job.state in _FRESH
        elif isinstance(event, StepAcknowledged):
            fresh = False
    return told


def _row(job: Job, event: Event, body: bytes, url_no: int, url: str) -> NewDelivery:
    return NewDelivery(
        delivery_id=f"{message_id(job.job_id, event.seq)}.{url_no}",
        job_id=job.job_id,
        tenant_id=job.order.tenant_id,
        seq=event.seq,
        url_no=url_no,
        url=url,
        shown_url=shown(url),
        host=_split(url)["host"].lower(),
        event_type=event_type(event),
        body=body,
        created_at=event.at,
    )


def shown(url: str) -> str:
    """The URL for logs and views: no query, and nothing of the path that is long enough for a token."""
    parts = _split(url)
    rest = "?…" if parts["rest"] else ""
    return f"{parts['scheme']}://{parts['host']}{_TOKEN_LIKE.sub('…', parts['path'])}{rest}"


def _split(url: str) -> dict[str, str]:
    match = _PARTS.match(url)
    return match.groupdict() if match else {"scheme": "", "host": "", "path": "", "rest": ""}
