"""What a seed draws.

A schedule is kind or harsh. Kind: every step suffers fewer faults than it has attempts, so every job
that nobody cancels must succeed (L7). Harsh: faults without limit and small budgets, so jobs may fail,
but only the way the rules say. Faults end at `heal`; from then on everything must come to its end (L1).
"""

from __future__ import annotations

import random  # noqa: TID251 - seeded: the seed is the argument that chance comes from
from typing import TYPE_CHECKING

from lucius.testing.jobs import protocol, recipe

if TYPE_CHECKING:
    from lucius.core.protocol import Protocol

HEAL = 12.0
"""Virtual seconds after which nothing goes wrong any more."""
WELL = 8.0
"""Virtual seconds after that within which everything that may be sent must be."""
PATIENCE = 400.0
"""Virtual seconds within which everything must be over then."""
_SHAPES: tuple[tuple[int, ...], ...] = ((1,), (1, 1), (1, 1, 1), (1, 1, 1), (2, 1), (1, 2))


class Plan:
    """The draws of one schedule."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)  # noqa: S311 - a schedule, not a secret
        draw = self.random
        self.kind = draw.random() < 0.5
        self.healed = False
        self.jobs = draw.randint(1, 3)
        kills = draw.choice((0, 1, 1, 2, 3))
        self.kills = sorted(draw.randint(5, draw.choice((60, 300))) for _ in range(kills))
        self.outages = [(at, at + draw.uniform(0.2, 4.0)) for at in self._times(draw.choice((0, 0, 1, 2)))]
        self.work = draw.choice((0.0, 0.2, 1.5))
        """Seconds a service takes at most."""
        self.message_faults = draw.choice((0.0, 0.05, 0.2))
        self.service_faults = draw.choice((0.0, 0.1, 0.4))
        self.commit_faults = draw.choice((0.0, 0.0, 0.0, 0.01))
        self.controls = draw.choice((0, 0, 3, 8))
        self.limit = draw.choice((None, None, 1, 2))
        self._spent: dict[tuple[str, str], int] = {}

    def _times(self, number: int) -> list[float]:
        return [self.random.uniform(0.0, 5.0) for _ in range(number)]

    def recipe(self) -> Protocol:
        """A protocol with short times."""
        draw = self.random
        budget = 9 if self.kind else draw.randint(1, 3)
        steps = []
        for stage, width in enumerate(draw.choice(_SHAPES)):
            for member in range(width):
                steps.append(  # noqa: PERF401 - the loop reads better
                    recipe(
                        f"s{stage}{member}",
                        step_type=draw.choice(("OCR", "SIS")),
                        group=f"g{stage}" if width > 1 else None,
                        ack_timeout=2_000,
                        lease=6_000,
                        dispatch_deadline=120_000 if self.kind else draw.choice((8_000, 120_000)),
                        max_dispatch_attempts=budget,
                        max_execution_attempts=budget,
                        publish_backoff=(1_000, 2_000),
                        ack_backoff=(500, 1_000),
                        execution_backoff=(500, 1_000),
                        jitter=0.2,
                    )
                )
        deadline = None if self.kind or draw.random() < 0.8 else draw.randint(5_000, 30_000)
        return protocol(*steps, deadline=deadline)

    def chance(self, probability: float) -> bool:
        """Whether something of that probability happens now; nothing does after `heal`."""
        return not self.healed and probability > 0 and self.random.random() < probability

    def fault(self, job_id: str, step_id: str, probability: float) -> bool:
        """Whether a fault that may cost this step an attempt happens now."""
        if not self.chance(probability):
            return False
        spent = self._spent.get((job_id, step_id), 0)
        if self.kind and spent >= 3:
            return False
        self._spent[job_id, step_id] = spent + 1
        return True

    def away(self, now: float) -> bool:
        """Whether the bus refuses everything now."""
        return not self.healed and any(start <= now < end for start, end in self.outages)

    def latency(self) -> float:
        """Seconds that something small takes: mostly little, now and then long."""
        draw = self.random.random()
        return draw * 0.004 if draw < 0.9 or self.healed else self.random.uniform(0.01, 0.4)
