"""Trying again: what is worth it, how long to wait, and when to give up.

Worth it: nobody answered, somebody answered who is not Lucius (a proxy whose Lucius is being restarted),
429, and 5xx. Final: everything Lucius itself refuses with another 4xx. Whoever gives up because of the
time raises `Unavailable`, so that "later" is one thing to catch.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final, TypeVar

from lucius.errors import LuciusError, Unavailable

T = TypeVar("T")

FIRST_WAIT: Final = 0.05
LONGEST_WAIT: Final = 2.0
LONGEST_RETRY_AFTER: Final = 30.0


class Repeating:
    """Repeats what may be repeated, with growing, uneven pauses, up to a moment on `clock`."""

    def __init__(
        self,
        *,
        clock: Callable[[], int],
        sleep: Callable[[float], Awaitable[None]],
        chance: Callable[[], float],
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._chance = chance

    def within(self, seconds: float) -> int:
        """The moment so many seconds from now."""
        return self._clock() + int(seconds * 1000)

    async def until(self, end: int, once: Callable[[], Awaitable[T | LuciusError]]) -> T:
        """What `once` gives when it gives no error. It is tried at least once."""
        tries = 0
        while isinstance(given := await once(), LuciusError):
            if not worth_repeating(given):
                raise given
            pause = self._pause(tries, given.retry_after)
            if self._clock() + pause * 1000 > end:
                raise later(given) from given
            await self._sleep(pause)
            tries += 1
        return given

    def _pause(self, tries: int, asked: int | None) -> float:
        pause = min(FIRST_WAIT * 2.0 ** min(tries, 10), LONGEST_WAIT) * (0.5 + self._chance() / 2)
        return pause if asked is None else max(pause, min(float(asked), LONGEST_RETRY_AFTER))


def worth_repeating(error: LuciusError) -> bool:
    """Whether the same request may pass later."""
    return error.retryable or error.status >= HTTPStatus.INTERNAL_SERVER_ERROR


def later(error: LuciusError) -> LuciusError:
    """The error as callers hear it: `Unavailable` if trying again may help."""
    if isinstance(error, Unavailable) or not worth_repeating(error):
        return error
    return Unavailable(error.message, code=error.code, retry_after=error.retry_after)
