"""One attempt from its directive to a stored RESULT: claim, ACK, settle, work, finish, tell."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from typing import Final as Constant

import msgspec
import structlog

from lucius.errors import Invalid, LuciusError, Saturated, Unavailable
from lucius.sdk.serving.meter import Meter
from lucius.sdk.serving.outcomes import Final
from lucius.sdk.serving.pools import Processes
from lucius.sdk.serving.ports import AttemptKey, Attempts, Heard, Lent, Transport
from lucius.sdk.serving.replies import ack, failed
from lucius.sdk.serving.spans import Spans
from lucius.sdk.serving.telling import Telling
from lucius.sdk.serving.work import Work
from lucius.sdk.workspaces.stores import Stores
from lucius.wire.messages import DirectiveMessage, ResultMessage, decode_reply, encode

if TYPE_CHECKING:
    from lucius.sdk.serving.runner import Options
    from lucius.sdk.serving.service import Service

ACK_PAUSE: Constant = 0.2
LONGEST_ACK_PAUSE: Constant = 5.0
STORE_PAUSE: Constant = 1.0


class Tools(msgspec.Struct, frozen=True, kw_only=True):
    """What every attempt of a process uses."""

    transport: Transport
    attempts: Attempts
    stores: Stores
    processes: Processes
    telling: Telling
    meter: Meter
    spans: Spans
    clock: Callable[[], int]
    sleep: Callable[[float], Awaitable[None]]


def key_of(directive: DirectiveMessage) -> AttemptKey:
    """What this attempt is remembered by."""
    return AttemptKey(
        job_id=directive.job_id,
        step_id=directive.step_id,
        attempt_no=directive.attempt_no,
        lease_id=directive.lease_id,
    )


def ids_of(directive: DirectiveMessage) -> dict[str, str | int | None]:
    """What every log line about an attempt carries."""
    return {
        "jobId": directive.job_id,
        "stepId": directive.step_id,
        "tenant_id": directive.tenant_id,
        "attempt_no": directive.attempt_no,
        "lease_id": directive.lease_id,
        "correlation_id": directive.correlation_id,
    }


def stored(result: bytes) -> ResultMessage:
    """A RESULT as it came from the store."""
    reply = decode_reply(result)
    if not isinstance(reply, ResultMessage):
        raise TypeError("the store holds something else than a RESULT")
    return reply


def told_again(result: bytes, directive: DirectiveMessage, now: int) -> ResultMessage:
    """A RESULT of earlier; in place of one that cannot be read any more, a failure that says so.

    It lies in the store until it is told, so whoever stumbled over it would do so at every start.
    """
    try:
        return stored(result)
    except Invalid as error:
        why = f"The result that was stored cannot be told: {error.message}."
        return failed(directive, now, Final("RESULT_REFUSED", why))


class AttemptRun:
    """One attempt in this process."""

    def __init__(
        self,
        service: Service[Any],
        directive: DirectiveMessage,
        lent: Lent,
        tools: Tools,
        options: Options,
    ) -> None:
        self.key = key_of(directive)
        self.directive = directive
        self.claimed = False
        """Whether the store holds our claim: only then can it be lost to somebody."""
        self.turned_away = False
        """Whether the store could not keep a claim."""
        self._body = lent.body
        self._locks = [lent.lock_token]
        self._stopped = False
        self._taken_over = False
        self._tools = tools
        self._owner = options.owner
        self._claim_ms = int(options.claim_seconds * 1000)
        self._log = structlog.get_logger("lucius.service")
        self._work = Work(
            service,
            directive,
            transport=tools.transport,
            stores=tools.stores,
            processes=tools.processes,
            meter=tools.meter,
            clock=tools.clock,
            scratch_root=options.scratch,
        )

    @property
    def heard_at(self) -> int | None:
        """When Lucius last answered about this attempt."""
        return self._work.heard_at

    def lose(self) -> None:
        """Another process has taken the attempt over, and answers for it."""
        self._taken_over = True
        self._work.lose("taken_over")

    def also(self, lent: Lent) -> bool:
        """The directive came again: settled with the first one; False if that is settled already."""
        if not self._locks:
            return False
        self._locks.append(lent.lock_token)
        return True

    def stop(self) -> None:
        """The process ends."""
        self._stopped = True
        self._work.stop()

    async def work(self) -> ResultMessage | None:
        """The RESULT to tell, or None when there is none to tell."""
        tools = self._tools
        now = tools.clock()
        try:
            found = await tools.attempts.claim(
                self.key, owner=self._owner, until=now + self._claim_ms, now=now, directive=self._body
            )
        except Unavailable as error:  # a store that is away: nothing was begun, so nothing is lost
            self.turned_away = True
            self._log.warning("the store is away; directive given back", code=error.code)
            await self._give_back()
            return None
        except Invalid as error:  # too large for this store, today and tomorrow
            self._log.error("the store cannot keep this directive", code=error.code, reason=error.message)
            await self._settle()
            return failed(self.directive, now, Final(error.code, error.message))
        if not found.claimed:
            return await self._seen_before(found.result)
        self.claimed = True
        tools.meter.directive("new")
        heard = await self._acknowledge()
        if heard is None:
            return None
        await self._settle()
        self._work.hear(heard)
        with tools.spans.attempt(self.directive) as span:
            result = await self._work.run()
            if result is None:
                if not self._taken_over:  # else its taker may still have to tell how it ended
                    await tools.telling.close(self.key)
                return None
            span.ended(result)
        return stored(await self._finish(encode(result)))

    async def _finish(self, result: bytes) -> bytes:
        """Store the RESULT, waiting for a store that is away: what is not stored must not be told."""
        while True:
            try:
                return await self._tools.attempts.finish(self.key, owner=self._owner, result=result)
            except Invalid as error:
                refused = Final("RESULT_TOO_LARGE", error.message)
                result = encode(failed(self.directive, self._tools.clock(), refused))
            except Unavailable as error:
                self._log.warning("the store is away; the result waits", code=error.code)
                await self._tools.sleep(STORE_PAUSE)

    async def tell(self, result: ResultMessage) -> None:
        """Make Lucius hear it."""
        await self._tools.telling.tell(self.key, self.directive, result)

    async def _seen_before(self, result: bytes | None) -> ResultMessage | None:
        """A directive that came again: its RESULT once more, or nothing while somebody works on it."""
        self._tools.meter.directive("repeated" if result else "running")
        await self._settle()
        if result is None:
            self._log.info("directive came again; the attempt is being worked on")
            return None
        self._log.info("directive came again; its result is sent once more")
        return told_again(result, self.directive, self._tools.clock())

    async def _acknowledge(self) -> Heard | None:
        """Say that the work begins, as long as it takes; None when it must not."""
        tools = self._tools
        pause = ACK_PAUSE
        while not self._stopped:
            try:
                heard = await tools.transport.reply(self.directive, ack(self.directive, tools.clock()))
            except (Unavailable, Saturated) as error:
                self._log.warning("ACK not heard yet, trying again", code=error.code)
                await tools.sleep(pause)
                pause = min(pause * 2, LONGEST_ACK_PAUSE)
                continue
            except LuciusError as error:
                self._log.error("Lucius does not take the ACK", code=error.code, reason=error.message)
                heard = Heard(verdict="unknown")
            if not heard.lost:
                return heard
            self._log.info("attempt is over already", verdict=heard.verdict)
            await self._settle()
            break
        else:
            self._log.warning("stopped before the ACK was heard; the attempt is left to its timeout")
        await tools.telling.close(self.key)
        return None

    async def _settle(self) -> None:
        locks, self._locks = self._locks, []
        try:
            await self._tools.transport.complete(locks)
        except LuciusError as error:  # it will be delivered again, and found in the store
            self._log.warning("settling failed", code=error.code)

    async def _give_back(self) -> None:
        locks, self._locks = self._locks, []
        try:
            await self._tools.transport.abandon(locks)
        except LuciusError as error:  # its lock runs out by itself
            self._log.warning("giving back failed", code=error.code)
