"""The workflow's replica of its job, and what to do next. Pure: time and chance are arguments.

Time passes by what happens, never by looking at a clock: signals and answers say what time it is for the
ledger, and a timer that fires says that its moment has come. When a workflow runs again from its history,
Temporal may show it a later clock than the first time; what happened is the same.

The replica is what the ledger is known to hold (`job.version` is the ledger's), plus attempts that the
workflow has drawn and is about to have recorded. Signals bring it forward by the same `decide` that the
ledger used; answers replace it. Whatever does not fit is no reason to guess: the next thing is to ask.

    hear   a signal: not newer than what is known, nothing; else decide, and ask if the ledger saw it else
    ask    draw a lease and start what may start, here first: an ACK may be quicker than the answer
    learn  the ledger's answer: taken unless a signal has already told more
    due    the moment at which to look again although nobody says anything
    reach  that moment has come
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from lucius.core import commands as cmd
from lucius.core.decide import Chance, Verdict, decide
from lucius.core.job import standing
from lucius.core.states import ACTIVE_STEP
from lucius.core.timing import due_at
from lucius.engines.temporal.messages import Outcome, Start
from lucius.ports.invoker import Advance

if TYPE_CHECKING:
    from lucius.core.job import Job
    from lucius.engines.temporal.messages import Told
    from lucius.ports.invoker import Advanced

_PROBE = Chance(lease_id="?")
SHORTEST_REST = 1_000
LONGEST_REST = 60_000
"""Milliseconds between two questions that bring nothing new: the clocks of ledger and Temporal may differ."""


class Pilot:
    """One job, seen from its workflow. `now` is Temporal's time; all other times are the ledger's."""

    def __init__(self, start: Start) -> None:
        self.job: Job = start.standing.of(start.order)
        self.lost = False
        """The ledger does not know this job."""
        self._start = start
        self._skew = start.skew
        self._nudged = False
        self._disputed = start.doubt
        self._asked = 0
        self._rest = 0
        self._quiet_until = 0
        self._time = self.job.updated_at

    @property
    def over(self) -> bool:
        """Nothing is left to do, and the ledger says so too."""
        return self.lost or (self.job.terminal and not self._disputed)

    def nudge(self) -> None:
        """Somebody thinks that something is due."""
        self._nudged = True

    def hear(self, command: cmd.Command, told: Told) -> None:
        """The ledger has judged this; judge it too."""
        if told.version <= self.job.version:
            return
        self.reach(told.at)
        decision = decide(self.job, command, told.at, Chance(lease_id="", spread=told.spread))
        self.job = replace(decision.job, version=told.version)
        accepted = decision.verdict is Verdict.ACCEPTED and not told.again
        agrees = accepted and decision.job.state is told.state
        unheard = told.version != decision.job.version and _others_at_work(decision.job, command)
        # A doubt stays until the ledger has answered it, unless there is nothing left to do.
        self._disputed = not agrees or ((self._disputed or unheard) and not decision.job.terminal)
        self._rest = self._quiet_until = 0  # what is new is no reason to go on resting

    def reach(self, moment: int) -> None:
        """It is at least so late."""
        self._time = max(self._time, moment)

    def wants(self) -> bool:
        """True when it is time to ask: something can start, something is due, or somebody disagrees."""
        if self.over:
            return False
        if self._nudged or self._disputed:
            return True
        due = due_at(self.job)
        overdue = due is not None and due <= self._time
        starts = bool(decide(self.job, cmd.Tick(), self._time, _PROBE).created)
        return (overdue or starts) and self._time >= self._quiet_until

    def ask(self, chance: Chance) -> Advance:
        """The question, with a lease for whatever it starts."""
        self._nudged = False
        self._asked = known = self.job.version
        decision = decide(self.job, cmd.Tick(), self._time, chance)
        if decision.created:
            self.job = replace(decision.job, version=known)
        order = self.job.order
        return Advance(
            job_id=order.job_id, tenant_id=order.tenant_id, known=known, lease_id=chance.lease_id,
            spread=chance.spread,
        )  # fmt: skip

    def learn(self, answer: Advanced, now: int) -> None:
        """Take over what the ledger has, unless a signal that came meanwhile told more.

        Without one the answer counts even if it is older: a ledger may have been restored from a copy.
        """
        self._skew = answer.now - now
        self.reach(answer.now)
        found = answer.standing
        if found is None:
            self.lost = True
            return
        if found.version >= self.job.version or self.job.version == self._asked:
            self.job = found.of(self.job.order)
            self._disputed = False
        fruitless = found.version == self._asked
        self._rest = min(max(self._rest * 2, SHORTEST_REST), LONGEST_REST) if fruitless else 0
        self._quiet_until = answer.now + self._rest

    def due(self) -> int | None:
        """The moment to look again of its own accord; None: no clock runs."""
        due = due_at(self.job)
        return None if due is None else max(due, self._quiet_until)

    def until(self, moment: int, now: int) -> int:
        """Milliseconds that Temporal has to wait for a moment of the ledger."""
        return max(moment - (now + self._skew), 1)

    def restart(self) -> Start:
        """What a fresh run needs to go on exactly here."""
        doubt = self._disputed or self._nudged
        return replace(self._start, standing=standing(self.job), skew=self._skew, doubt=doubt)

    def outcome(self) -> Outcome:
        """How it ended."""
        job = self.job
        return Outcome(state=job.state, version=job.version, final_output=job.final_output, error=job.error)


def _others_at_work(job: Job, command: cmd.Command) -> bool:
    """Whether a step that this says nothing of may be what happened unheard: signals overtake one another."""
    said = getattr(command, "step_id", None)
    return any(step.state in ACTIVE_STEP and step.step_id != said for step in job.steps)
