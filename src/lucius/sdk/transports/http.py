"""The way to a running Lucius over HTTP: long polls for directives, callbacks for replies.

State: two pools of connections, one that knows the service's key (receive, settle, renew) and one that does
not (callbacks: they carry the token of their directive). Settlements and replies that come up while a
request is under way go out together with the next one.

How it fails: `Unavailable` when trying again may help, after having tried: replies until the caller's
deadline, settlements and renewals for a few seconds, `receive` once, for its caller loops anyhow. What Lucius
refuses is raised as it said it (`Unauthenticated`, `Forbidden`, `NotFound`, `Invalid`) and not tried again. A
`receive` that is cancelled hangs up, and Lucius takes back what it was about to lend; what had just
arrived is given back from here.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeVar

import httpx2
import msgspec

from lucius.errors import LuciusError
from lucius.sdk import door
from lucius.sdk.serving.ports import Heard, Lent
from lucius.sdk.transports.asking import answer, ask, client
from lucius.sdk.transports.callbacks import Callbacks, Reply, addressed
from lucius.sdk.transports.gathering import Gathering
from lucius.sdk.transports.repeating import Repeating, later
from lucius.wire.messages import DirectiveMessage

T = TypeVar("T")

LONGEST_POLL: Final = 30.0
MOST_DIRECTIVES: Final = 100
MOST_LOCKS: Final = 500
LONGEST_REASON: Final = 1_000
SLACK: Final = 10.0
"""Seconds a long poll may be late."""
SETTLE_WITHIN: Final = 5.0
"""Seconds; a lock that could not be settled runs out, and the directive comes again."""


class _Directive(msgspec.Struct, frozen=True):
    lock_token: str
    directive: msgspec.Raw
    delivery_count: int = 1


class _Directives(msgspec.Struct, frozen=True):
    directives: list[_Directive]


class _Settlement(msgspec.Struct, frozen=True, omit_defaults=True):
    lock_token: str
    outcome: str
    reason: str = ""


class _Lock(msgspec.Struct, frozen=True):
    lock_token: str
    result: str


class _Locks(msgspec.Struct, frozen=True):
    results: list[_Lock]


class HttpTransport:
    """A `Transport` to the Lucius at `url`. `chance` draws from 0 to 1, for uneven pauses."""

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        clock: Callable[[], int],
        sleep: Callable[[float], Awaitable[None]],
        chance: Callable[[], float],
        timeout: float = 10.0,
        patience: float = 30.0,
    ) -> None:
        self.url = door.address(url)
        self._timeout = timeout
        self._patience = patience
        trust = httpx2.create_ssl_context()  # one for both: reading all the certificates takes its time
        self._http = client(self.url, key, timeout, trust)
        self._callback_http = client(self.url, None, timeout, trust)
        self._callbacks = Callbacks(self._callback_http, clock)
        self._settlements = Gathering(self._settle, most=MOST_LOCKS)
        self._repeating = Repeating(clock=clock, sleep=sleep, chance=chance)

    async def receive(self, step_types: Sequence[str], *, limit: int, wait: float) -> list[Lent]:
        """Take up to `limit` directives (at most 100), waiting up to `wait` seconds (at most 30)."""
        polling = asyncio.ensure_future(self._poll(step_types, min(limit, MOST_DIRECTIVES), wait))
        try:
            return await asyncio.shield(polling)
        except asyncio.CancelledError:
            polling.cancel()
            (given,) = await asyncio.gather(polling, return_exceptions=True)
            if isinstance(given, list) and given:  # it had just arrived
                with contextlib.suppress(LuciusError):  # then the locks run out
                    await self.abandon([lent.lock_token for lent in given])
            raise

    async def complete(self, lock_tokens: Sequence[str]) -> None:
        """Done with these. A lock that is lost by now is none of our business any more."""
        await self._put([_Settlement(token, "complete") for token in lock_tokens])

    async def abandon(self, lock_tokens: Sequence[str]) -> None:
        """Give these back for another receiver."""
        await self._put([_Settlement(token, "abandon") for token in lock_tokens])

    async def refuse(self, lock_token: str, reason: str) -> None:
        """Put one aside as a dead letter."""
        words = reason.encode(errors="replace").decode()[:LONGEST_REASON]
        await self._put([_Settlement(lock_token, "dead_letter", words)])

    async def renew(self, lock_tokens: Sequence[str]) -> list[bool]:
        """Keep these longer; False for each lock that is lost."""
        held: list[bool] = []
        for start in range(0, len(lock_tokens), MOST_LOCKS):
            some = list(lock_tokens[start : start + MOST_LOCKS])
            body = msgspec.json.encode({"lock_tokens": some})
            end = self._repeating.within(SETTLE_WITHIN)
            locks = await self._repeating.until(end, partial(self._ask, "renew", body, _Locks))
            ok = {lock.lock_token for lock in locks.results if lock.result == "ok"}
            held += [token in ok for token in some]
        return held

    async def reply(self, directive: DirectiveMessage, reply: Reply, *, until: int | None = None) -> Heard:
        """Tell Lucius, trying until a time (ms since the epoch; None: as long as `patience` says)."""
        callback = addressed(directive, reply, self.url)
        end = self._repeating.within(self._patience) if until is None else until
        return await self._repeating.until(end, lambda: self._callbacks.send(callback))

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()
        await self._callback_http.aclose()

    async def _poll(self, step_types: Sequence[str], limit: int, wait: float) -> list[Lent]:
        wait = min(max(wait, 0.0), LONGEST_POLL)
        asked = {"step_types": list(step_types), "max": limit, "wait_seconds": wait}
        patient = httpx2.Timeout(self._timeout, read=wait + SLACK)
        found = await self._ask("receive", msgspec.json.encode(asked), _Directives, patient)
        if isinstance(found, LuciusError):
            raise later(found)
        return [
            Lent(body=bytes(one.directive), lock_token=one.lock_token, delivery_count=one.delivery_count)
            for one in found.directives
        ]

    async def _put(self, settlements: Sequence[_Settlement]) -> None:
        if settlements:
            end = self._repeating.within(SETTLE_WITHIN)
            await self._repeating.until(end, lambda: self._settled(settlements))

    async def _settled(self, settlements: Sequence[_Settlement]) -> LuciusError | None:
        errors = await self._settlements.put(settlements)
        return next((error for error in errors if error is not None), None)

    async def _settle(self, settlements: Sequence[_Settlement]) -> list[LuciusError | None]:
        body = msgspec.json.encode({"settlements": settlements})
        answered = await self._ask("settle", body, _Locks)
        return [answered if isinstance(answered, LuciusError) else None] * len(settlements)

    async def _ask(
        self, verb: str, body: bytes, shape: type[T], patient: httpx2.Timeout | None = None
    ) -> T | LuciusError:
        response = await ask(self._http, f"{self.url}/v1/directives:{verb}", body, timeout=patient)
        return response if isinstance(response, LuciusError) else answer(response, shape)
