"""What the attempts suite is given: a fresh store, how to open it once more, and shorthand."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import count

from lucius.sdk.serving.ports import AttemptKey, Attempts, Found, Overdue

NOW = 1_769_508_120_000
"""When the suite plays. Stores take the time as an argument, so that it never passes by itself."""
SOON = NOW + 60_000
LATER = SOON + 60_000


@dataclass(slots=True, kw_only=True)
class AttemptsHarness:
    """An empty store and shorthand for the suite."""

    attempts: Attempts
    another: Callable[[], Awaitable[Attempts]]
    """Open the same store once more, as another process would."""
    numbers: count[int] = field(default_factory=lambda: count(1))

    def key(self, **more: str | int) -> AttemptKey:
        """An attempt of its own."""
        number = next(self.numbers)
        given = {"job_id": f"job-{number}", "step_id": "ocr", "attempt_no": 1, "lease_id": f"lease-{number}"}
        return AttemptKey(**{**given, **more})  # type: ignore[arg-type]

    async def claim(
        self,
        key: AttemptKey,
        *,
        owner: str = "first",
        until: int = SOON,
        directive: bytes = b'{"type":"DIRECTIVE"}',
        by: Attempts | None = None,
    ) -> Found:
        """Claim, now."""
        return await (by or self.attempts).claim(key, owner=owner, until=until, now=NOW, directive=directive)

    async def begun(self, **more: str | int) -> AttemptKey:
        """An attempt that `first` works on until SOON."""
        key = self.key(**more)
        found = await self.claim(key)
        assert found == Found(claimed=True)
        return key

    async def take(
        self, *, owner: str = "second", now: int = SOON, limit: int = 100, by: Attempts | None = None
    ) -> list[Overdue]:
        """Take over what is overdue SOON, until LATER."""
        return await (by or self.attempts).take_overdue(owner=owner, now=now, until=LATER, limit=limit)

    async def clients(self, number: int, stack: AsyncExitStack) -> list[Attempts]:
        """So many other users of the store, closed with the stack."""
        opened = [await self.another() for _ in range(number)]
        for each in opened:
            stack.push_async_callback(each.close)
        return opened
