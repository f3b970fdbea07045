"""What a seed draws. Faults end at `HEAL`; from then on everything must come to its end.

A kind schedule has few faults for each run, a harsh one has them without limit: runs may die then, but only
for the reasons that the rules have.
"""

from __future__ import annotations

import random  # noqa: TID251 - seeded: the seed is the argument that chance comes from

from lucius.lifebook.core.policy import Policy

HEAL = 28.0
"""Virtual seconds after which nothing goes wrong any more."""
PATIENCE = 900.0
"""Virtual seconds within which everything must be over then."""
POLICY = Policy(
    backoff=(1_000, 2_000, 4_000, 8_000),
    lease=6_000,
    retention_seconds=12,
    outage=(),
    send_patience=2_000,
    queue_patience=40_000,
    lock_patience=3_000,
)
PRICE = 100
WELL, REFUSED, UNHEARD = "well", "refused", "unheard"
LOST, TWICE, LATE = "lost", "twice", "late"


class Plan:
    """The draws of one schedule."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)  # noqa: S311 - a schedule, not a secret
        draw = self.random
        self.healed = False
        self.runs = draw.randint(1, 5)
        self.workers = draw.randint(1, 3)
        self.keepers = draw.choice((1, 1, 2))
        """Processes with the duties."""
        self.kills = [draw.uniform(0, HEAL) for _ in range(draw.choice((0, 1, 2, 4, 8)))]
        self.freezes = [draw.uniform(0, HEAL) for _ in range(draw.choice((0, 0, 1, 3)))]
        self.stops = [draw.uniform(0, HEAL) for _ in range(draw.choice((0, 0, 1, 2)))]
        self.outages = {name: self._outages() for name in ("store", "work", "dead", "analytics")}
        self.call_faults = draw.choice((0.0, 0.02, 0.06, 0.15, 0.3))
        self.message_faults = draw.choice((0.0, 0.1, 0.3))
        self.step_faults = draw.choice((0.0, 0.1, 0.3, 0.8))
        self.deadly = draw.choice((0.0, 0.0, 0.0, 0.05, 0.5))
        """How often a step kills its process."""
        self.peeks = draw.choice((0, 0, 0, 4, 25))
        """How often somebody looks into the queue and gives back what was there."""
        self.cancels = draw.choice((0, 0, 1, 2))
        self.retries = draw.choice((0, 0, 1, 2))
        self.hurry = draw.choice((None, None, 9.0, 14.0))
        """Seconds that a worker has for one message, as on Lambda."""
        self.opening = draw.choice((100_000, 100_000, 8 * PRICE))

    def _outages(self) -> list[tuple[float, float]]:
        draw = self.random
        begins = [draw.uniform(0, HEAL) for _ in range(draw.choice((0, 0, 0, 1, 2)))]
        return [(begin, begin + draw.choice((1.0, 5.0, 12.0))) for begin in begins]

    def chance(self, probability: float) -> bool:
        """Whether something of that probability happens now; nothing does once all is healed."""
        return not self.healed and probability > 0 and self.random.random() < probability

    def fate(self, port: str, now: float) -> str:
        """What becomes of a call."""
        if self.healed:
            return WELL
        if any(begin <= now < end for begin, end in self.outages[port]):
            return REFUSED
        return self.random.choice((REFUSED, UNHEARD)) if self.chance(self.call_faults) else WELL

    def handling(self) -> str:
        """What becomes of a message that is sent."""
        return self.random.choice((LOST, TWICE, LATE, LATE)) if self.chance(self.message_faults) else WELL

    def latency(self) -> float:
        """Seconds that a call takes: mostly little."""
        draw = self.random.random()
        return draw * 0.004 if draw < 0.95 or self.healed else self.random.uniform(0.01, 1.5)

    def rest(self, seconds: float) -> float:
        """How long somebody rests who usually rests so long; more when only the end is waited for."""
        return seconds * self.random.uniform(0.4, 1.6) * (4 if self.healed else 1)
