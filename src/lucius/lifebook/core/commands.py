"""What can be asked of a run. Times and chance are told by whoever asks, never read here."""

from __future__ import annotations

import msgspec


class Command(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag=True):
    """Base of all commands."""


class Sent(Command, frozen=True, kw_only=True, tag="sent"):
    """Its message is in the queue."""


class Resend(Command, frozen=True, kw_only=True, tag="resend"):
    """It is overdue: another message shall be sent."""


class Acquire(Command, frozen=True, kw_only=True, tag="acquire"):
    """A worker wants to run it."""

    owner: str
    token: str
    """New and unguessable for each acquisition."""


class Beat(Command, frozen=True, kw_only=True, tag="beat"):
    """The worker is alive; the lock lasts a lease longer."""

    token: str


class Checkpoint(Command, frozen=True, kw_only=True, tag="checkpoint"):
    """The step at `cursor` is done."""

    token: str
    cursor: int
    credits: int
    """What it cost, in hundredths; at most what was planned for it."""
    artifact: str | None = None


class Fail(Command, frozen=True, kw_only=True, tag="fail"):
    """The attempt failed."""

    token: str
    code: str
    message: str
    spread: float
    """Chance in [0, 1) that moves the next attempt a little."""
    poison: bool = False
    """Trying again cannot help."""


class HandOn(Command, frozen=True, kw_only=True, tag="hand_on"):
    """The worker runs out of time between two steps: another one goes on, with the same attempt."""

    token: str


class Cancel(Command, frozen=True, kw_only=True, tag="cancel"):
    """Somebody wants it to stop."""

    code: str = "CANCELED_BY_USER"
    message: str = ""


class Bury(Command, frozen=True, kw_only=True, tag="bury"):
    """The message that counts was found among the dead letters."""

    receives: int
    send_no: int | None = None
    """Which of the run's messages it is; None: the one that counts."""


AnyCommand = Sent | Resend | Acquire | Beat | Checkpoint | Fail | HandOn | Cancel | Bury
