"""The asynchronous client: the same calls, awaited.

State: a pool of connections, opened on first use. Every method raises `LuciusError` and nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
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


class AsyncClient:
    """Sends calls to one Lucius and awaits their answers."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        timeout: float = 10.0,
        patience: Patience | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = door.address(url)
        self._timeout = timeout
        self._patience = patience or Patience()
        self._http = httpx2.AsyncClient(transport=transport, **door.options(url, key, timeout))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def send(self, call: Call[T], *, patience: Patience | None = None) -> T:
        """The answer to a call; `patience` if not the client's own."""
        return call.read(await self.raw(call, patience=patience))

    async def raw(self, call: Call[Any], *, patience: Patience | None = None) -> Any:
        """The answer as the server spelled it, with fields this client does not know."""
        patient = patience or self._patience
        async for attempt in stamina.retry_context(
            on=lambda error: may_repeat(error, call, patient),
            attempts=patient.attempts,
            timeout=None,
            wait_initial=patient.first_wait,
            wait_max=patient.longest_wait,
            wait_jitter=patient.first_wait,
        ):
            with attempt:
                return await self._once(call)
        raise AssertionError("unreachable: the last attempt raises")  # pragma: no cover

    async def follow(
        self,
        job_id: str,
        *,
        after: int = 0,
        within: float | None = None,
        on_break: Callable[[LuciusError], None] | None = None,
        patience: float = 120.0,
    ) -> AsyncIterator[Event]:
        """A job's events as they happen, until the job is over; see `Client.follow`."""
        following = Following(job_id, after=after, within=within, patience=patience, on_break=on_break)
        async for attempt in stamina.retry_context(
            on=StreamEnded, attempts=None, timeout=None, wait_initial=0.1, wait_max=1.0, wait_jitter=0.1
        ):
            with attempt:
                try:
                    async for event in self._listen(following):
                        yield event
                    following.over = following.done or (await self.send(jobs.get(job_id))).over
                except (httpx2.HTTPError, LuciusError) as error:
                    following.broke(error, self.url)
                following.ended()

    async def _once(self, call: Call[Any]) -> Any:
        try:
            response = await self._http.request(**door.request(call))
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise unanswered(error, self.url, call) from error
        return judged(response)

    async def _listen(self, following: Following) -> AsyncIterator[Event]:
        arguments = door.stream(following.call, following.after, self._timeout, following.silence)
        async with self._http.stream(**arguments) as response:
            if not response.is_success:
                await response.aread()
                raise refusal(response)
            if not following.listening(response.status_code):
                return
            async for sent in httpx2.EventSource(response):
                if (event := following.heard(sent)) is not None:
                    yield event
                if following.done:
                    return
