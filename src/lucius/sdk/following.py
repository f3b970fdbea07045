"""Following a job's events across broken connections: everything but the I/O.

State: the number of the last event, whether the job is over, and since when the server is away. A
stream that breaks or ends early raises `StreamEnded`, which means "connect again"; what cannot get
better by itself (a 404, a refused credential, absence beyond the patience) is raised as it is.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import httpx2
import msgspec

from lucius.errors import LuciusError
from lucius.sdk import jobs
from lucius.sdk.answers import TERMINAL_EVENTS, Event
from lucius.sdk.problems import NOT_LUCIUS, lost

_SILENCE = 60.0  # a server says something far more often


class StreamEnded(Exception):  # noqa: N818 - it is a turn of the loop, not an error anybody sees
    """The stream is over and the job is not: connect again."""


class Following:
    """Where one follower stands."""

    def __init__(
        self,
        job_id: str,
        *,
        after: int,
        within: float | None,
        patience: float,
        on_break: Callable[[LuciusError], None] | None,
    ) -> None:
        self.call = jobs.events(job_id)
        self.after = after
        self.over = False
        self._patience = patience
        self._on_break = on_break
        self._lost_at: float | None = None
        self._until = None if within is None else time.monotonic() + within

    @property
    def done(self) -> bool:
        """True when there is nothing more to wait for: the job is over, or the time is up."""
        return self.over or (self._until is not None and time.monotonic() >= self._until)

    @property
    def silence(self) -> float:
        """Seconds without a word after which the stream is taken for dead."""
        if self._until is None:
            return _SILENCE
        return min(_SILENCE, max(self._until - time.monotonic(), 0.001))

    def listening(self, status: int) -> bool:
        """The server has answered: True when a stream follows, False when there is nothing to tell."""
        self._lost_at = None
        self.over = self.over or status == httpx2.codes.NO_CONTENT
        return not self.over

    def heard(self, sent: httpx2.ServerSentEvent, clean: Callable[[Any], Any] | None = None) -> Event | None:
        """The event in a message; None for one that was told before or that says nothing."""
        if not sent.data:
            return None
        event = _event(sent.data, clean)
        if event is None or event.seq <= self.after:
            return None
        self.after = event.seq
        self.over = event.type in TERMINAL_EVENTS
        return event

    def broke(self, error: Exception, url: str) -> None:
        """The connection is lost or was refused: raise `StreamEnded`, or what will not get better."""
        if self.done:
            return
        known = error if isinstance(error, LuciusError) else lost(error, url)
        if not known.retryable or known.code == NOT_LUCIUS:
            raise known
        now = time.monotonic()
        if self._lost_at is None:
            self._lost_at = now
            if self._on_break is not None:
                self._on_break(known)
        elif now - self._lost_at > self._patience:
            raise known
        raise StreamEnded from error

    def ended(self) -> None:
        """The server closed the stream: raise `StreamEnded` unless there is nothing to wait for."""
        if not self.done:
            raise StreamEnded


def _event(data: str, clean: Callable[[Any], Any] | None) -> Event | None:
    try:
        decoded: Any = msgspec.json.decode(data)
        document = decoded if clean is None else clean(decoded)
        return msgspec.convert(document, type=Event, strict=False).of(document)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
