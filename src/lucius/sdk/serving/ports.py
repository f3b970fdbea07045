"""What the runner of a service needs from outside: a way to Lucius, and a memory that survives it.

Both are small on purpose: a new broker is one `Transport`, a new store is one `Attempts`, bound to the
public suite `lucius.testing.attempts`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from lucius.wire.messages import AckMessage, DirectiveMessage, HeartbeatMessage, ResultMessage


class Lent(msgspec.Struct, frozen=True, kw_only=True):
    """A directive as it came, lent until it is settled or its lock runs out."""

    body: bytes
    lock_token: str
    delivery_count: int = 1


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What Lucius said to a reply. A bus says nothing: then everything is None or False."""

    verdict: str | None = None
    """`accepted`, `duplicate`, `stale_lease`, `after_terminal`, `conflict` or `unknown`."""
    lease_expires_at: int | None = None
    cancel_requested: bool = False

    @property
    def lost(self) -> bool:
        """Whether the attempt is no longer ours: the work is to be thrown away."""
        return self.verdict in {"stale_lease", "after_terminal", "conflict", "unknown"}


class Transport(Protocol):
    """The way to Lucius and back. `Unavailable`: try again later; nothing was lost."""

    async def receive(self, step_types: Sequence[str], *, limit: int, wait: float) -> list[Lent]:
        """Take up to `limit` directives, waiting up to `wait` seconds for the first one."""
        ...

    async def complete(self, lock_tokens: Sequence[str]) -> None:
        """Done with these: nobody else needs them."""
        ...

    async def abandon(self, lock_tokens: Sequence[str]) -> None:
        """Give these back for another receiver."""
        ...

    async def refuse(self, lock_token: str, reason: str) -> None:
        """Put one aside as a dead letter: nobody can read it."""
        ...

    async def renew(self, lock_tokens: Sequence[str]) -> list[bool]:
        """Keep these longer; False for each lock that is lost."""
        ...

    async def reply(
        self, directive: DirectiveMessage, reply: AckMessage | HeartbeatMessage | ResultMessage
    ) -> Heard:
        """Tell Lucius about the attempt of a directive."""
        ...

    async def close(self) -> None:
        """Let go of the connections."""
        ...


class AttemptKey(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt: what deduplication goes by."""

    job_id: str
    step_id: str
    attempt_no: int
    lease_id: str


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a claim found: at most one of the two is set."""

    claimed: bool
    """It is ours to work on; True for exactly one claimer."""
    result: bytes | None = None
    """The RESULT that was stored when it was worked on before; send it again."""


class Overdue(msgspec.Struct, frozen=True, kw_only=True):
    """An attempt whose worker fell silent before Lucius had heard the result."""

    key: AttemptKey
    directive: bytes
    result: bytes | None


class Attempts(Protocol):
    """What became of the attempts a service has seen, where a restart finds it.

        claim ──▶ claimed ──finish──▶ finished ──told──▶ told ──forget──▶ gone
                     └── until passes ──▶ overdue: whoever takes it over reports it

    All times are milliseconds since the epoch. Of two results the first one stored stands.
    """

    async def claim(self, key: AttemptKey, *, owner: str, until: int, now: int, directive: bytes) -> Found:
        """Begin an attempt, or learn that it was begun before (`claimed` False) and how it ended.

        One that is overdue is not begun again: it is for `take_overdue`.
        """
        ...

    async def extend(self, keys: Sequence[AttemptKey], *, owner: str, until: int) -> list[bool]:
        """Say that `owner` is alive; False for each attempt that is no longer its own, or over."""
        ...

    async def finish(self, key: AttemptKey, *, owner: str, result: bytes) -> bytes:
        """Store the RESULT before it is sent; the one that stands, which may be an earlier one.

        The first stands whoever brings it, an owner that was taken over too. Of an attempt that is not
        remembered nothing is stored, and what was given stands.
        """
        ...

    async def told(self, key: AttemptKey, *, now: int) -> None:
        """Lucius has heard the result: nothing is left to do. The first time counts."""
        ...

    async def take_overdue(self, *, owner: str, now: int, until: int, limit: int) -> list[Overdue]:
        """Take over attempts whose `until` has passed and whose result was not told; each has one taker.

        The longest overdue come first. An owner that was late may be given its own.
        """
        ...

    async def forget(self, *, before: int) -> int:
        """Drop attempts that were told before a time; how many.

        Attempts that were never told go too when their `until` lies before that time: nobody has kept
        them alive or taken them over since, so that a service that is gone leaves nothing behind.
        """
        ...

    async def close(self) -> None:
        """Let go of the store."""
        ...
