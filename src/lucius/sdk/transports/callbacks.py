"""Replies over HTTP: where one goes, and how one or many are sent.

A reply goes to the URL its directive names, with the token of that directive: the service's own key is for
Lucius and never leaves for a URL that came in a message. A URL that is not plain http or https is not
trusted; the reply then goes to the Lucius that the directive came from. Replies are sent together when
their URLs are siblings (`…/ack`, `…/heartbeat`, `…/result` below one address): then `…/batch` is there
too. Where it turns out not to be, they go one by one.

State: which addresses have no `batch`. How it fails: every error is handed back as a value, so that one
refused reply does not take the others of its batch with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Final
from urllib.parse import urlsplit

import httpx2
import msgspec

from lucius.errors import Invalid, LuciusError
from lucius.sdk.problems import refusal
from lucius.sdk.serving.ports import Heard
from lucius.sdk.transports.asking import answer, ask, stranger
from lucius.sdk.transports.gathering import Gathering
from lucius.wire.messages import AckMessage, DirectiveMessage, HeartbeatMessage, ResultMessage, encode
from lucius.wire.timestamps import parse_iso

Reply = AckMessage | HeartbeatMessage | ResultMessage
PATH: Final = "/v1/callbacks"
MAX_BATCH: Final = 500
BATCH_ROOM: Final = 3 * 1024 * 1024
"""Bytes; Lucius takes 4 MiB."""

CLOSE_ENOUGH: Final = 5_000
"""Milliseconds; the date of an answer is in whole seconds, and an answer may be slow."""

_KINDS: Final[dict[type, str]] = {AckMessage: "ack", HeartbeatMessage: "heartbeat", ResultMessage: "result"}
_NO_BATCH: Final = frozenset(
    {HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED}
)


class Callback(msgspec.Struct, frozen=True, kw_only=True):
    """A reply, ready to be sent."""

    url: str
    base: str | None
    """The address `batch` is below; None: this one goes alone."""
    body: bytes
    token: str | None

    def in_batch(self) -> bytes:
        """As one of several: the token goes into the body."""
        token = msgspec.json.encode(self.token)
        return self.body[:-1] + b',"callback_token":' + token + b"}"


class _Said(msgspec.Struct, frozen=True):
    verdict: str
    lease_expires_at: str | None = None
    cancel_requested: bool = False

    def heard(self, ahead: int) -> Heard:
        until = parse_iso(self.lease_expires_at) + ahead if self.lease_expires_at is not None else None
        return Heard(verdict=self.verdict, lease_expires_at=until, cancel_requested=self.cancel_requested)


class _One(msgspec.Struct, frozen=True):
    status: int
    answer: _Said | None = None
    problem: msgspec.Raw = msgspec.Raw(b"null")


class _Batch(msgspec.Struct, frozen=True):
    results: list[_One]


def addressed(directive: DirectiveMessage, reply: Reply, url: str) -> Callback:
    """The reply with where it goes; `url` is the Lucius to fall back on."""
    kind = _KINDS[type(reply)]
    named = (directive.callback_urls or {}).get(kind, "")
    target = named if _trusted(named) else f"{url}{PATH}/{kind}"
    base, _, last = target.rpartition("/")
    return Callback(
        url=target,
        base=base if last == kind else None,
        body=encode(reply),
        token=directive.callback_token,
    )


class Callbacks:
    """Sends replies; `send` may be called by many at once."""

    def __init__(self, http: httpx2.AsyncClient, clock: Callable[[], int]) -> None:
        self._http = http
        self._clock = clock
        self._gatherings: dict[str, Gathering[Callback, Heard | LuciusError]] = {}
        self._alone: set[str] = set()

    async def send(self, callback: Callback) -> Heard | LuciusError:
        """Send one reply, together with others if there are any."""
        base = callback.base
        if base is None or base in self._alone:
            return await self._one(callback)
        gathering = self._gatherings.get(base)
        if gathering is None:
            gathering = self._gatherings[base] = Gathering(
                self._all, most=MAX_BATCH, weigh=lambda each: len(each.body) + 1024, room=BATCH_ROOM
            )
        return (await gathering.put([callback]))[0]

    async def _all(self, callbacks: Sequence[Callback]) -> Sequence[Heard | LuciusError]:
        base = callbacks[0].base
        if len(callbacks) == 1 or base is None or base in self._alone:
            return await self._each(callbacks)
        body = b'{"replies":[' + b",".join(each.in_batch() for each in callbacks) + b"]}"
        response = await ask(self._http, f"{base}/batch", body)
        if isinstance(response, LuciusError):
            return [response] * len(callbacks)
        if response.status_code in _NO_BATCH:
            self._alone.add(base)
        if response.status_code in range(400, 500) and response.status_code != HTTPStatus.TOO_MANY_REQUESTS:
            return await self._each(callbacks)  # one of them may have spoiled it for all
        read = answer(response, _Batch)
        if isinstance(read, LuciusError):
            return [read] * len(callbacks)
        if len(read.results) != len(callbacks):
            return [stranger(response)] * len(callbacks)
        ahead = _ahead(response, self._clock())
        return [_judged(one, response, ahead) for one in read.results]

    async def _each(self, callbacks: Sequence[Callback]) -> list[Heard | LuciusError]:
        if len(callbacks) == 1:
            return [await self._one(callbacks[0])]
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self._one(each)) for each in callbacks]
        return [task.result() for task in tasks]

    async def _one(self, callback: Callback) -> Heard | LuciusError:
        response = await ask(self._http, callback.url, callback.body, token=callback.token)
        if isinstance(response, LuciusError):
            return response
        said = answer(response, _Said)
        if isinstance(said, LuciusError):
            return said
        return _heard(said, response, _ahead(response, self._clock()))


def _judged(one: _One, response: httpx2.Response, ahead: int) -> Heard | LuciusError:
    if one.answer is not None:
        return _heard(one.answer, response, ahead)
    return refusal(httpx2.Response(one.status, content=bytes(one.problem), request=response.request))


def _ahead(response: httpx2.Response, now: int) -> int:
    """Milliseconds our clock is ahead of the other's, by the date of its answer; 0 where it is close enough.

    Times of Lucius are told as times of ours: with a clock that is wrong by more than a lease, heartbeats
    would leave too late to keep it, or without a pause.
    """
    try:
        date = parsedate_to_datetime(response.headers.get("date", ""))
    except ValueError:
        return 0
    ahead = now - int(date.timestamp() * 1000)
    return ahead if abs(ahead) > CLOSE_ENOUGH else 0


def _heard(said: _Said, response: httpx2.Response, ahead: int) -> Heard | LuciusError:
    try:
        return said.heard(ahead)
    except Invalid:
        return stranger(response)


def _trusted(url: str) -> bool:
    """Whether a URL that came in a message is one to send a reply to."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)
