"""What a seed draws for the temporal engine: who dies, who is away, how late things are, whose clock is off.

A schedule may also be `calm`: nothing is lost and services are well and may take their time, but
processes die and bus, invoker and Temporal go away. Then every step must need exactly one attempt.
It may be `plain`: services and messages go wrong, but all that Lucius is made of is up, so that the drift
check has nothing to do. And `quiet`: nothing goes wrong at all, so that calls and signals can be counted.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from msgspec.structs import replace

from lucius.testing.simulation.plan import Plan

if TYPE_CHECKING:
    from lucius.core.protocol import Protocol

LONG = 900_000
"""Milliseconds that nobody waits for in a calm schedule."""


class TemporalPlan(Plan):
    """The draws of one schedule."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        draw = self.random
        self.quiet = draw.random() < 0.06
        self.calm = self.quiet or draw.random() < 0.2
        self.invokers = draw.choice((1, 1, 2))
        self.workers = draw.choice((1, 1, 2))
        self.process_kills = [
            (draw.choice(("invoker", "invoker", "worker", "worker", "orchestrator")), at)
            for at in self._moments(draw.choice((0, 1, 2, 4)))
        ]
        self.temporal_outages = [
            (at, at + draw.uniform(0.2, 6.0)) for at in self._moments(draw.choice((0, 0, 1, 2)))
        ]
        self.rpc_faults = draw.choice((0.0, 0.05, 0.2))
        self.call_faults = draw.choice((0.0, 0.05, 0.2))
        self.store_faults = draw.choice((0.0, 0.0, 0.03))
        self.task_faults = draw.choice((0.0, 0.05))
        self.skew = draw.choice((0, 0, draw.randint(-300_000, 300_000)))
        """Milliseconds that Temporal's clock is ahead of the ledger's."""
        self.operators = [
            (draw.choice(("terminate", "cancel")), at) for at in self._moments(draw.choice((0, 0, 0, 1)))
        ]
        self.history_limit = draw.choice((None, None, 3, 8))
        """Activations after which Temporal suggests to continue as new."""
        self.execution_timeout = None
        if not self.kind and draw.random() < 0.1:
            self.execution_timeout = timedelta(seconds=draw.uniform(2.0, 60.0))
        self.attributes = draw.random() < 0.5
        self.plain = self.quiet or draw.random() < 0.15
        if self.calm:
            self._calm_down()
        if self.plain:
            self._all_is_up()
        if self.quiet:
            self.history_limit, self.skew = None, 0
        self.faults = 0
        """How often something went wrong."""

    def _calm_down(self) -> None:
        self.kind = True
        self.message_faults = self.service_faults = 0.0
        self.controls = 0
        self.operators = []
        self.execution_timeout = None

    def _all_is_up(self) -> None:
        self.process_kills, self.temporal_outages, self.outages, self.operators = [], [], [], []
        self.rpc_faults = self.call_faults = self.store_faults = self.task_faults = 0.0

    def _moments(self, number: int) -> list[float]:
        longest = self.random.choice((2.0, 10.0))
        return sorted(self.random.uniform(0.0, longest) for _ in range(number))

    def recipe(self) -> Protocol:
        """As the other plan; calm services may take as long as they like."""
        made = super().recipe()
        if not self.calm:
            return made
        return replace(
            made,
            steps=tuple(
                replace(step, ack_timeout=LONG, lease=LONG, dispatch_deadline=LONG) for step in made.steps
            ),
        )

    def chance(self, probability: float) -> bool:
        """As the other plan, counted."""
        happens = super().chance(probability)
        self.faults += happens
        return happens

    def temporal_away(self, now: float) -> bool:
        """Whether Temporal answers nobody now."""
        return not self.healed and any(start <= now < end for start, end in self.temporal_outages)
