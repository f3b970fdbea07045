"""The blocking client.

State: a pool of connections, opened on first use. Every method raises `LuciusError` and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx2
import stamina

from lucius.errors import LuciusError
from lucius.sdk import door, jobs
from lucius.sdk.answers import Event
from lucius.sdk.call import Call, Patience
from lucius.sdk.following import Following, StreamEnded
from lucius.sdk.problems import judged, may_repeat, refusal, unanswered

T = TypeVar("T")


class Client:
    """Sends calls to one Lucius and waits for their answers."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        patience: Patience | None = None,
        transport: httpx2.BaseTransport | None = None,
        clean: Callable[[Any], Any] | None = None,
    ) -> None:
        """`clean` sees every document before it is read; the command line takes control characters out."""
        self.url = door.address(url)
        self._timeout = timeout
        self._patience = patience or Patience()
        self._clean = clean
        self._http = httpx2.Client(transport=transport, **door.options(url, key, timeout))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def send(self, call: Call[T], *, patience: Patience | None = None) -> T:
        """The answer to a call; `patience` if not the client's own."""
        return call.read(self.raw(call, patience=patience))

    def raw(self, call: Call[Any], *, patience: Patience | None = None) -> Any:
        """The answer as the server spelled it, with fields this client does not know."""
        patient = patience or self._patience
        for attempt in stamina.retry_context(
            on=lambda error: may_repeat(error, call, patient),
            attempts=patient.attempts,
            timeout=None,
            wait_initial=patient.first_wait,
            wait_max=patient.longest_wait,
            wait_jitter=patient.first_wait,
        ):
            with attempt:
                return self._once(call)
        raise AssertionError("unreachable: the last attempt raises")  # pragma: no cover

    def follow(
        self,
        job_id: str,
        *,
        after: int = 0,
        within: float | None = None,
        on_break: Callable[[LuciusError], None] | None = None,
        patience: float = 120.0,
    ) -> Iterator[Event]:
        """A job's events as they happen, until the job is over or `within` seconds have passed.

        Survives lost connections and restarts of the server: it comes back with `Last-Event-ID`, so no
        event is missed or told twice. `on_break` hears of each absence, once. Raises `Unavailable` when the
        server stays away for `patience` seconds.
        """
        following = Following(job_id, after=after, within=within, patience=patience, on_break=on_break)
        for attempt in stamina.retry_context(
            on=StreamEnded, attempts=None, timeout=None, wait_initial=0.1, wait_max=1.0, wait_jitter=0.1
        ):
            with attempt:
                try:
                    yield from self._listen(following)
                    # A stream of a job that is over tells nothing; so does a server that drains.
                    following.over = following.done or self.send(jobs.get(job_id)).over
                except (httpx2.HTTPError, LuciusError) as error:
                    following.broke(error, self.url)
                following.ended()

    def _once(self, call: Call[Any]) -> Any:
        try:
            response = self._http.request(**door.request(call))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unanswered(error, self.url, call) from error
        document = judged(response)
        return document if self._clean is None else self._clean(document)

    def _listen(self, following: Following) -> Iterator[Event]:
        with self._http.stream(
            **door.stream(following.call, following.after, self._timeout, following.silence)
        ) as response:
            if not response.is_success:
                response.read()
                raise refusal(response)
            if not following.listening(response.status_code):
                return
            for sent in httpx2.EventSource(response):
                if (event := following.heard(sent, self._clean)) is not None:
                    yield event
                if following.done:
                    return
