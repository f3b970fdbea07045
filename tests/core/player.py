"""Plays any command against one job and checks every promise after each: what random programs drive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from lucius.core import commands as cmd
from lucius.core.decide import Chance, Decision, Verdict, decide, open_job
from lucius.core.events import Event
from lucius.core.evolve import replay
from lucius.core.job import Attempt, Job, StepResult
from lucius.core.promises import Breach, check_decision, check_directives, check_history
from lucius.core.states import IN_FLIGHT_STEP, JobState, StepState
from lucius.core.timing import due_at
from lucius.ports.ledger import OutboxRow
from lucius.testing.jobs import AWAY, START, done, lost, order, protocol, recipe, render

T = TypeVar("T")
Pick = Callable[[Sequence[T]], T]

RESULTS = (*(done(), lost()) * 4, done("s3://space/other.json"), lost("OTHER"), lost(final=True))
TIMES = (*(0, 1, 500) * 4, 30_000, 60_000, 900_000, 3_600_000)


def any_protocol(pick: Pick[Any]) -> dict[str, Any]:
    """A recipe and a start of any shape: groups, budgets, deadline, delay."""
    groups = pick(((None,), (None, None), ("g", "g"), ("g", "g", None), (None, "g", "g", "g")))
    steps = [
        recipe(
            f"s{index}",
            group=group,
            max_dispatch_attempts=pick((1, 2, 3)),
            max_execution_attempts=pick((1, 2, 3)),
            dispatch_deadline=pick((45_000, 3_600_000)),
            jitter=0.2,
        )
        for index, group in enumerate(groups)
    ]
    return {
        "steps": protocol(*steps, deadline=pick((None, None, None, 600_000, 7_200_000))),
        "not_before": pick((None, None, START - 1, START + 60_000)),
    }


class Player:
    """One job under any program of commands."""

    def __init__(self, shape: dict[str, Any]) -> None:
        self.order = order(**shape, job_id="job")
        self.now = START
        self.leases = 0
        self.events: list[Event] = []
        self.rows: list[OutboxRow] = []
        self.past: list[tuple[str, Attempt]] = []
        self.job: Job
        self._take(None, open_job(self.order, self._chance(0.5)))

    def _chance(self, spread: float) -> Chance:
        self.leases += 1
        return Chance(lease_id=f"lease-{self.leases}", spread=spread)

    def ask(self, command: cmd.Command, *, spread: float = 0.5) -> Decision:
        """Ask, and check what came of it."""
        decision = decide(self.job, command, self.now, self._chance(spread))
        self._take(self.job, decision)
        return decision

    def _take(self, old: Job | None, decision: Decision) -> None:
        breaches = check_decision(old, decision)
        assert breaches == [], breaches
        self.job = decision.job
        self.events += decision.events
        self.rows += [render(self.job, index) for index in decision.created]
        for index in decision.created:
            step = self.job.steps[index]
            assert step.attempt is not None
            self.past.append((step.step_id, step.attempt))

    def act(self, verb: str, pick: Pick[Any]) -> None:
        """One command of that kind, its details picked."""
        self.now += pick(TIMES)
        if verb == "tick":
            if (due := due_at(self.job)) is not None and pick((True, True, False)):
                self.now = max(self.now, due)
            held = pick((frozenset(), frozenset(step.step_id for step in self.job.steps)))
            self.ask(cmd.Tick(held=held), spread=pick((0.0, 0.5, 0.999)))
        elif verb in {"cancel", "pause", "resume"}:
            force = pick((False, False, True))
            self.ask({"cancel": cmd.Cancel(force=force), "pause": cmd.Pause(), "resume": cmd.Resume()}[verb])
        elif self.past:
            self._say(verb, pick)

    def _say(self, verb: str, pick: Pick[Any]) -> None:
        """Something about an attempt: mostly the newest, sometimes any before it or one that never was."""
        step_id, attempt = self.past[-1] if pick((True, True, False)) else pick(self.past)
        number = attempt.attempt_no + pick((0, 0, 0, 0, 1))
        lease = pick((attempt.lease_id,) * 4 + ("forged",))
        who = {"step_id": step_id, "attempt_no": number}
        said: dict[str, Callable[[], cmd.Command]] = {
            "published": lambda: cmd.Published(**who),
            "unpublished": lambda: cmd.PublishFailed(**who, error=AWAY),
            "ack": lambda: cmd.Ack(**who, lease_id=lease),
            "heartbeat": lambda: cmd.Heartbeat(**who, lease_id=lease, progress=pick((None, 0.5))),
            "result": lambda: cmd.Result(**who, lease_id=lease, result=pick(RESULTS)),
        }
        command = said[verb]()
        first = self.ask(command)
        if isinstance(command, cmd.Result):
            self._again(command, first)

    def _again(self, command: cmd.Result, first: Decision) -> None:
        """A result that counted is a duplicate from then on, until its attempt is replaced."""
        step = first.job.step(command.step_id)
        current = step is not None and step.attempt is not None and step.attempt.lease_id == command.lease_id
        if first.verdict is Verdict.ACCEPTED and current:
            expected = Verdict.DUPLICATE
            cut = step is not None and step.state is StepState.CANCELLED and step.result is None
            assert self.ask(command).verdict is (Verdict.AFTER_TERMINAL if cut else expected)

    def check_all(self) -> list[Breach]:
        """The whole life so far."""
        assert replay(self.order, self.events) == self.job
        return [
            *check_history(self.order, self.events, self.job),
            *check_directives(self.order, self.events, self.rows),
        ]

    def play_fair(self) -> None:
        """From here on everybody does their work: the job must come to its end."""
        doomed = self.job.state is JobState.CANCELLING or self.order.protocol.deadline is not None
        began_terminal = self.job.terminal
        for _ in range(200):
            if self.job.terminal:
                break
            self._fair_turn()
        assert self.job.terminal, f"stuck at {self.job.state}: {[step.state for step in self.job.steps]}"
        if not (began_terminal or doomed):
            assert self.job.state is JobState.SUCCEEDED, self.job.error

    def _fair_turn(self) -> None:
        if self.job.state in {JobState.PAUSED, JobState.PAUSING}:
            self.ask(cmd.Resume())
        for step in self.job.steps:
            if step.attempt is None or step.state not in {StepState.DISPATCHING, *IN_FLIGHT_STEP}:
                continue
            who: dict[str, Any] = {"step_id": step.step_id, "attempt_no": step.attempt.attempt_no}
            self.ask(cmd.Published(**who))
            self.ask(cmd.Result(**who, lease_id=step.attempt.lease_id, result=self._good()))
            return
        due = due_at(self.job)
        if due is not None:
            self.now = max(self.now, due)
            self.ask(cmd.Tick())

    @staticmethod
    def _good() -> StepResult:
        return done()
