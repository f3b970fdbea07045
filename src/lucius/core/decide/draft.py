"""A decision in the making: the job so far, and the events that got it there."""

from __future__ import annotations

from typing import Any

import msgspec

from lucius.core.events import Event
from lucius.core.evolve import evolve
from lucius.core.job import Fault, Job
from lucius.core.names import Name, quick


@quick
class Verdict(Name):
    """How a command was judged."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    STALE_LEASE = "stale_lease"
    AFTER_TERMINAL = "after_terminal"
    CONFLICT = "conflict"
    UNKNOWN = "unknown"
    REFUSED = "refused"


class Chance(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What a decision may draw on: an id for a lease, and a number in [0, 1) for jitter.

    Without a lease id nothing starts: a step that is ready stays so until a decision may draw one.
    """

    lease_id: str
    spread: float = 0.5


class Decision(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The answer of the core. Whoever executes it commits it first."""

    job: Job
    events: tuple[Event, ...]
    verdict: Verdict
    created: tuple[int, ...] = ()
    """Steps that got a new attempt: an outbox row each, in the same commit."""
    republish: tuple[int, ...] = ()
    """Steps whose current directive is to be published again, byte for byte."""
    refusal: Fault | None = None


class Draft:
    """Carries one decision from rule to rule."""

    __slots__ = ("chance", "created", "events", "job", "now", "refusal", "republish")

    def __init__(self, job: Job, now: int, chance: Chance) -> None:
        self.job = job
        self.now = now
        self.chance = chance
        self.events: list[Event] = []
        self.created: list[int] = []
        self.republish: list[int] = []
        self.refusal: Fault | None = None

    def emit(self, event_type: type[Event], **fields: Any) -> None:
        """Let something happen."""
        event = event_type(seq=self.job.version + 1, at=self.now, **fields)
        self.job = evolve(self.job, event)
        self.events.append(event)

    def refuse(self, code: str, message: str) -> Verdict:
        """Say no, with a reason; nothing happens."""
        self.refusal = Fault(code=code, message=message)
        return Verdict.REFUSED

    def next_lease(self) -> str:
        """A lease id that no other attempt has."""
        return f"{self.chance.lease_id}-{len(self.created)}" if self.created else self.chance.lease_id

    def decision(self, verdict: Verdict) -> Decision:
        """The finished value."""
        if not (self.created or self.republish or self.refusal):  # most of them
            return Decision(job=self.job, events=tuple(self.events), verdict=verdict)
        return Decision(
            job=self.job,
            events=tuple(self.events),
            verdict=verdict,
            created=tuple(self.created),
            republish=tuple(self.republish),
            refusal=self.refusal,
        )
