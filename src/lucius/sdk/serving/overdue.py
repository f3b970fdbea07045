"""Attempts whose process fell silent: told by whoever notices, instead of found when the lease ends.

A process says of each running attempt that it is alive (`extend`). When it dies, its claims become overdue
and another process, or its own next start, takes them over: a RESULT that was stored is sent; where none
was, the attempt is reported as FAILED_RETRY, SERVICE_CRASHED. The next attempt then starts in a folder of
its own, so what the dead process left behind is in nobody's result. Should the "dead" process only have
slept, it hears that its attempt is lost, and throws its work away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

import structlog

from lucius.errors import Invalid, Unavailable
from lucius.sdk.serving.attempt import AttemptRun, Tools, ids_of, told_again
from lucius.sdk.serving.outcomes import Retryable
from lucius.sdk.serving.ports import AttemptKey, Overdue
from lucius.sdk.serving.replies import failed
from lucius.telemetry.logs import bound
from lucius.wire.messages import DirectiveMessage, decode_directive, encode

if TYPE_CHECKING:
    from lucius.sdk.serving.runner import Options

LIMIT: Final = 50
FORGET_EVERY: Final = 100
CRASHED: Final = Retryable("SERVICE_CRASHED", "The process that worked on this ended without a word.")


class OverdueAttempts:
    """Keeps our own claims alive and takes over those of the dead."""

    def __init__(
        self, tools: Tools, options: Options, running: Callable[[], Mapping[AttemptKey, AttemptRun]]
    ) -> None:
        self._tools = tools
        self._options = options
        self._running = running
        self._log = structlog.get_logger("lucius.service")

    async def renew(
        self, sleep: Callable[[float], Awaitable[None]], lose: Callable[[AttemptKey], None]
    ) -> None:
        """Say at every third of a claim that we live; `lose` hears of attempts somebody took over."""
        while True:
            await sleep(self._options.claim_seconds / 3)
            # One whose claim is still on its way is in no store yet, and nobody has taken it over.
            ours = [key for key, run in self._running().items() if run.claimed]
            if not ours:
                continue
            try:
                held = await self._tools.attempts.extend(ours, owner=self._options.owner, until=self._until())
            except Unavailable as error:
                self._log.warning("the store is away; claims were not renewed", code=error.code)
                continue
            for key, mine in zip(ours, held, strict=True):
                if not mine:
                    lose(key)

    async def look(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Look for attempts of dead processes at every third of a claim, and forget old ones now and then."""
        rounds = 0
        while True:
            try:
                await self.take_over()
                if rounds % FORGET_EVERY == 0:
                    before = self._tools.clock() - int(self._options.keep_seconds * 1000)
                    await self._tools.attempts.forget(before=before)
            except Unavailable as error:
                self._log.warning("the store is away; looking again later", code=error.code)
            rounds += 1
            await sleep(self._options.claim_seconds / 3)

    async def take_over(self) -> int:
        """One look; how many attempts of dead processes were told."""
        found = await self._tools.attempts.take_overdue(
            owner=self._options.owner, now=self._tools.clock(), until=self._until(), limit=LIMIT
        )
        # After the machine slept our own claims are overdue too, though the work goes on.
        dead = [one for one in found if one.key not in self._running()]
        async with asyncio.TaskGroup() as group:
            for one in dead:
                group.create_task(self._tell(one))
        return len(dead)

    def _until(self) -> int:
        return self._tools.clock() + int(self._options.claim_seconds * 1000)

    async def _tell(self, one: Overdue) -> None:
        try:
            directive = decode_directive(one.directive)
        except Invalid:  # an older version wrote it; nobody can answer for it any more
            await self._tools.telling.close(one.key)
            return
        with bound(**ids_of(directive)):
            try:
                result = one.result or await self._crashed(one.key, directive)
                async with asyncio.timeout(self._options.claim_seconds / 2):
                    told = told_again(result, directive, self._tools.clock())
                    await self._tools.telling.tell(one.key, directive, told)
            except (TimeoutError, Unavailable):
                self._log.warning("Lucius or the store is away; the attempt will be told later")

    async def _crashed(self, key: AttemptKey, directive: DirectiveMessage) -> bytes:
        """The RESULT that stands for an attempt without one."""
        self._log.warning("an attempt's process died; telling Lucius")
        report = encode(failed(directive, self._tools.clock(), CRASHED))
        return await self._tools.attempts.finish(key, owner=self._options.owner, result=report)
