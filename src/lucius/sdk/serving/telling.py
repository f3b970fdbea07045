"""Making Lucius hear a RESULT: as often and as long as it takes, and not longer.

The RESULT is in the store before it is first sent, so a process that dies here loses nothing: whoever
takes the attempt over sends the same bytes. Lucius away: tried again for ever, with growing pauses. Lucius
refusing the message itself (too large, say): a failure in plain words is sent in its place. Lucius refusing
the token: nothing can be done, and the attempt is closed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final as Constant

import structlog

from lucius.errors import Invalid, LuciusError, Saturated, Unavailable
from lucius.sdk.serving.outcomes import Final
from lucius.sdk.serving.ports import AttemptKey, Attempts, Heard, Transport
from lucius.sdk.serving.replies import failed
from lucius.wire.messages import DirectiveMessage, ResultMessage

FIRST_PAUSE: Constant = 0.2
LONGEST_PAUSE: Constant = 15.0


class Telling:
    """Sends results and keeps book of what was heard."""

    def __init__(
        self,
        transport: Transport,
        attempts: Attempts,
        *,
        clock: Callable[[], int],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._transport = transport
        self._attempts = attempts
        self._clock = clock
        self._sleep = sleep
        self._log = structlog.get_logger("lucius.service")

    async def tell(self, key: AttemptKey, directive: DirectiveMessage, result: ResultMessage) -> Heard:
        """Send until heard, then note that it was."""
        heard = await self._heard(directive, result)
        if heard.lost:
            self._log.warning("the result came too late or second", verdict=heard.verdict)
        await self.close(key)
        return heard

    async def close(self, key: AttemptKey) -> None:
        """Nothing is left to do for an attempt. A store that is away has it told once more, later."""
        try:
            await self._attempts.told(key, now=self._clock())
        except Unavailable as error:
            self._log.warning("the store is away; the attempt will be told again", code=error.code)

    async def _heard(self, directive: DirectiveMessage, result: ResultMessage) -> Heard:
        pause = FIRST_PAUSE
        while True:
            try:
                return await self._transport.reply(directive, result)
            except (Unavailable, Saturated) as error:
                self._log.warning("result not heard yet, trying again", code=error.code, pause=pause)
            except Invalid as error:
                if result.error is not None and result.error.code == "RESULT_REFUSED":
                    return Heard(verdict="unknown")
                self._log.exception("Lucius cannot take this result", code=error.code)
                why = f"Lucius could not take the result: {error.message}"
                result = failed(directive, self._clock(), Final("RESULT_REFUSED", why))
                continue
            except LuciusError as error:
                self._log.exception("Lucius does not take results of this attempt", code=error.code)
                return Heard(verdict="unknown")
            await self._sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
