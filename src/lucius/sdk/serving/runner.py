"""Runs one service: takes directives, works on each attempt once, reports, and stops in good order.

    receive ─▶ held (fair between tenants) ─▶ claim ─▶ ACK ─▶ complete ─▶ work under heartbeat
            ─▶ finish (the RESULT is stored) ─▶ RESULT until heard ─▶ told

State: `held` directives, taken ahead and not begun; `running` attempts. Everything that must survive a
crash is in the `Attempts` store. A directive is settled once its ACK was heard: from then on the lease
guards the work, and nobody else can be working on the same attempt.

How it fails: a Lucius that is away is asked again, with pauses; a process that dies leaves claims behind,
and whoever finds them overdue reports them (`overdue.py`); a store that is away is waited for, because a
service that cannot remember would do work twice. A credential that Lucius refuses ends the process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import msgspec
import structlog

from lucius.core.fairness import FairQueue
from lucius.errors import Invalid, LuciusError, Saturated, Unavailable
from lucius.sdk.serving.ahead import Ahead
from lucius.sdk.serving.attempt import AttemptRun, Tools, ids_of, key_of
from lucius.sdk.serving.overdue import OverdueAttempts
from lucius.sdk.serving.ports import AttemptKey, Lent
from lucius.sdk.serving.service import Service
from lucius.telemetry.logs import bound
from lucius.wire.messages import DirectiveMessage, decode_directive

FIRST_PAUSE: Final = 0.2
LONGEST_PAUSE: Final = 10.0
LONGEST_STORE_PAUSE: Final = 5.0
"""Seconds between two tries with a store that is away: who asks so often still counts as one who serves."""
LONGEST_HOLD: Final = 10.0
"""Seconds after which a directive that was taken ahead goes back: well below any ACK timeout."""


LAST_WORDS: Final = 5.0
"""Seconds for telling that work was stopped."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How a service is run."""

    owner: str
    """Names this process among all that share a store."""
    concurrency: int = 1
    prefetch: int = 16
    """Directives taken ahead, at most; fewer when each takes long."""
    wait: float = 20.0
    """Seconds one request for directives may wait."""
    claim_seconds: float = 30.0
    """A claim that was not renewed for so long is overdue."""
    drain_seconds: float = 25.0
    """How long a stop lets running work go on."""
    keep_seconds: float = 14 * 86_400.0
    """Attempts are remembered this long after their result was heard."""
    scratch: Path | None = None


class _Held(msgspec.Struct, frozen=True):
    key: AttemptKey
    directive: DirectiveMessage
    lents: list[Lent]
    """The same directive, as often as it came."""
    since: float


class Runner:
    """One service at work."""

    def __init__(
        self,
        service: Service[Any],
        tools: Tools,
        options: Options,
        *,
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._service = service
        self._tools = tools
        self._options = options
        self._sleep = sleep
        self._log = structlog.get_logger("lucius.service")
        self._held: FairQueue[_Held] = FairQueue()
        self._running: dict[AttemptKey, AttemptRun] = {}
        self._telling = 0
        self._ahead = Ahead(options.concurrency, options.prefetch)
        self._changed = asyncio.Event()
        self._stopping = asyncio.Event()
        self._refusal: LuciusError | None = None
        self.heard_at: int | None = None
        """When Lucius last answered, for the readiness probe."""
        self.store_away = 0
        """How many claims in a row the store could not keep."""

    def last_heard(self) -> int | None:
        """When Lucius last answered a question for work, or a reply of work that goes on."""
        times = [self.heard_at, *(run.heard_at for run in self._running.values())]
        return max((at for at in times if at is not None), default=None)

    def stop(self) -> None:
        """Take nothing new; `run` returns when the running work is over or the drain time is."""
        self._stopping.set()
        self._changed.set()

    async def run(self) -> None:
        """Serve until stopped."""
        await self._service.start()
        try:
            async with asyncio.TaskGroup() as group:
                overdue = OverdueAttempts(self._tools, self._options, lambda: self._running)
                watches = [
                    group.create_task(overdue.renew(self._sleep, self._lose)),
                    group.create_task(overdue.look(self._sleep)),
                    group.create_task(self._watch_held()),
                ]
                intake = group.create_task(self._take(group))
                await self._stopping.wait()
                intake.cancel()
                await asyncio.wait([intake])
                await self._drain()
                for watch in watches:
                    watch.cancel()
        except* StopNowError:
            self._log.error("results not heard before the stop; the next start tells them")
        finally:
            await self._service.stop()
            self._tools.processes.close()
        if self._refusal is not None:
            raise self._refusal

    async def _take(self, group: asyncio.TaskGroup) -> None:
        """Fetch as much as can be begun soon, for ever."""
        loop = asyncio.get_running_loop()
        pause = FIRST_PAUSE
        while True:
            room = self._ahead.room(len(self._running), len(self._held))
            if room < 1:
                self._changed.clear()
                await self._changed.wait()
                continue
            if self.store_away:
                # Whatever came now would be given back at once, until it counts as undeliverable.
                await self._sleep(min(FIRST_PAUSE * 2.0**self.store_away, LONGEST_STORE_PAUSE))
                room = 1
            # The first question is answered at once, so that readiness does not wait for work to come.
            wait = 0.0 if self.heard_at is None else self._options.wait
            asked = loop.time()
            try:
                lents = await self._tools.transport.receive([self._service.step_type], limit=room, wait=wait)
            except LuciusError as error:
                if not isinstance(error, Unavailable | Saturated) and error.code != "UNKNOWN_STEP_TYPE":
                    # Work that runs needs no key, only its token: it may end, and is heard.
                    self._refusal = error
                    self.stop()
                    return
                told = {"code": error.code, "reason": error.message, "pause": pause}
                self._log.warning("no directives to be had, trying again", **told)
                await self._sleep(pause)
                pause = min(pause * 2, LONGEST_PAUSE)
                continue
            pause = FIRST_PAUSE
            self.heard_at = self._tools.clock()
            if not lents and loop.time() - asked < wait / 2:
                await self._sleep(FIRST_PAUSE)  # a Lucius that is being stopped answers at once
            # All of them are held before anything is awaited: a stop gives back what is held.
            settling = [self._hold(lent) for lent in lents]
            self._begin(group)
            for settle in settling:
                if settle is not None:
                    await self._quietly(settle())

    def _hold(self, lent: Lent) -> Callable[[], Awaitable[None]] | None:
        """Put a directive in line; how to settle it, if it is unreadable or already here."""
        transport, meter = self._tools.transport, self._tools.meter
        try:
            directive = decode_directive(lent.body)
        except Invalid as error:
            self._log.error("unreadable directive put aside", reason=error.message)
            meter.directive("refused")
            return partial(transport.refuse, lent.lock_token, error.message)
        key = key_of(directive)
        if (run := self._running.get(key)) is not None:
            meter.directive("running")
            return None if run.also(lent) else partial(transport.complete, [lent.lock_token])
        if (waiting := self._held.get(repr(key))) is not None:
            meter.directive("running")
            waiting.lents.append(lent)  # the first lock may have run out; this one has not
            return None
        held = _Held(key, directive, [lent], asyncio.get_running_loop().time())
        self._held.push(directive.tenant_id, repr(key), held)
        return None

    def _begin(self, group: asyncio.TaskGroup) -> None:
        """Start as many attempts as there are free places."""
        while len(self._running) < self._options.concurrency and not self._stopping.is_set():
            held = self._held.pop()
            if held is None:
                break
            first, *again = held.lents
            run = AttemptRun(self._service, held.directive, first, self._tools, self._options)
            for lent in again:
                run.also(lent)
            self._running[held.key] = run
            group.create_task(self._serve(run, group))
        self._tools.meter.load(len(self._running), len(self._held))

    async def _serve(self, run: AttemptRun, group: asyncio.TaskGroup) -> None:
        """One attempt; its place is free again before its RESULT is heard."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._telling += 1
        try:
            with bound(**ids_of(run.directive)):
                result = await run.work()
        finally:
            self.heard_at = self.last_heard()
            del self._running[run.key]
            if run.turned_away or run.claimed:
                self.store_away = min(self.store_away + 1, 10) if run.turned_away else 0
            self._ahead.took(loop.time() - began)
            self._changed.set()
        self._begin(group)  # outside of `bound`: the next attempt has ids of its own
        try:
            if result is not None:
                with bound(**ids_of(run.directive)):
                    await run.tell(result)
        finally:
            self._telling -= 1
            self._changed.set()

    def _lose(self, key: AttemptKey) -> None:
        """The store says that somebody took this attempt over."""
        if (run := self._running.get(key)) is not None:
            run.lose()

    async def _drain(self) -> None:
        """Give back what was not begun; let the rest finish, and stop what does not."""
        given_back = [lent.lock_token for held in self._held for lent in held.lents]
        self._held = FairQueue()
        for _ in given_back:
            self._tools.meter.directive("given_back")
        if given_back:
            await self._quietly(self._tools.transport.abandon(given_back))
        if not await self._idle(self._options.drain_seconds):
            for run in self._running.values():
                run.stop()
            if not await self._idle(LAST_WORDS):
                raise StopNowError

    async def _idle(self, within: float) -> bool:
        """Wait until nothing runs and every result was heard; False when the time is up."""
        try:
            async with asyncio.timeout(within):
                while self._running or self._telling:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True

    async def _watch_held(self) -> None:
        """Give back what could not be begun as soon as was thought, before its ACK timeout is near."""
        while True:
            await self._sleep(LONGEST_HOLD / 5)
            now = asyncio.get_running_loop().time()
            late = [held for held in self._held if now - held.since > LONGEST_HOLD]
            for held in late:
                self._held.remove(repr(held.key))
                self._ahead.took(now - held.since)
                self._tools.meter.directive("given_back")
            if late:
                locks = [lent.lock_token for held in late for lent in held.lents]
                await self._quietly(self._tools.transport.abandon(locks))

    async def _quietly(self, settling: Awaitable[None]) -> None:
        """Settle; a settlement that is lost costs another delivery and nothing else."""
        try:
            await settling
        except LuciusError as error:
            self._log.warning("settling failed; it will be delivered again", code=error.code)


class StopNowError(Exception):
    """The drain time is over; what is left is in the store."""
