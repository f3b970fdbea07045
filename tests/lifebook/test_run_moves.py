"""Every command in every status, against a grid written by hand; then random programs, against promises."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lucius.lifebook.core import commands as cmd
from lucius.lifebook.core.decide import Decision, Refusal, decide
from lucius.lifebook.core.events import CANCELED, COMPLETED
from lucius.lifebook.core.policy import BACKOFF_SECONDS, Policy
from lucius.lifebook.core.promises import broken
from lucius.lifebook.core.run import Lock, Run
from lucius.lifebook.core.states import TERMINAL, TRANSITIONS, Status
from lucius.lifebook.core.wallet import Wallet, reserve, settle
from lucius.testing.lifebook.runs import NOW, new_run

POLICY = Policy()
MINE, THEIRS = "mine", "theirs"
replace = msgspec.structs.replace


def _running(token: str, expires_at: int, **more: object) -> Run:
    lock = Lock(owner="worker", token=token, expires_at=expires_at)
    base = replace(new_run(), status=Status.RUNNING, attempts=1, lock=lock, due_at=expires_at)
    return replace(base, **more)


def _ended(status: Status) -> Run:
    return replace(new_run(), status=status, credits_reserved=0, completed_at=NOW, ttl_at=1, due_at=None)


RUNS = {
    "pending": new_run(),
    "queued": replace(new_run(), status=Status.QUEUED, due_at=NOW + 9),
    "overdue": replace(new_run(), status=Status.QUEUED, due_at=NOW),
    "handed on": replace(new_run(), status=Status.QUEUED, attempts=1, continued=True, due_at=NOW + 9),
    "mine": _running(MINE, NOW + 1000),
    "mine, first step done": _running(MINE, NOW + 1000, step_cursor=1, credits_spent=100),
    "mine, last step": _running(MINE, NOW + 1000, step_cursor=2, credits_spent=300),
    "mine, last attempt": _running(MINE, NOW + 1000, attempts=5),
    "theirs": _running(THEIRS, NOW + 1000),
    "lost": _running(THEIRS, NOW),
    "lost for the third time": _running(THEIRS, NOW, crashes=2, attempts=3),
    "lost, last attempt": _running(THEIRS, NOW, attempts=5),
    "failed": replace(new_run(), status=Status.FAILED, attempts=1, next_attempt_at=NOW + 5, due_at=NOW + 9),
    "failed, due": replace(new_run(), status=Status.FAILED, attempts=1, next_attempt_at=NOW, due_at=NOW),
    "completed": _ended(Status.COMPLETED),
    "dead": _ended(Status.DEAD),
    "canceled": _ended(Status.CANCELED),
}
COMMANDS: dict[str, cmd.AnyCommand] = {
    "sent": cmd.Sent(),
    "resend": cmd.Resend(),
    "acquire": cmd.Acquire(owner="me", token=MINE),
    "beat": cmd.Beat(token=MINE),
    "checkpoint": cmd.Checkpoint(token=MINE, cursor=0, credits=100),
    "checkpoint 2": cmd.Checkpoint(token=MINE, cursor=2, credits=300),
    "fail": cmd.Fail(token=MINE, code="X", message="x", spread=0.5),
    "poison": cmd.Fail(token=MINE, code="X", message="x", spread=0.5, poison=True),
    "hand on": cmd.HandOn(token=MINE),
    "cancel": cmd.Cancel(),
    "bury": cmd.Bury(receives=8, send_no=1),
    "bury an older": cmd.Bury(receives=8, send_no=0),
}
# What a run becomes; `same`: it has happened already; capitals: refused, and why.
_OPEN = {"resend": "NOT_DUE", "cancel": "canceled", "bury an older": "NEWER_MESSAGE"}
_FREE = {"acquire": "running", "bury": "dead"}
_HELD_BY_ME = {
    "sent": "same", "acquire": "same", "beat": "running", "checkpoint": "running",
    "checkpoint 2": "CURSOR_MOVED", "fail": "failed", "poison": "dead", "hand on": "queued", "bury": "LOCKED",
}  # fmt: skip
_NOT_MINE = dict.fromkeys(
    ("beat", "checkpoint", "checkpoint 2", "fail", "poison", "hand on"), "LOCK_LOST"
)  # fmt: skip
_LOST = _OPEN | _NOT_MINE | {"sent": "same", "resend": "running", "bury": "dead"}
_OVER = dict.fromkeys(COMMANDS, "RUN_ENDED") | {"sent": "same"}
GRID = {
    "pending": _OPEN | _NOT_MINE | _FREE | {"sent": "queued"},
    "queued": _OPEN | _NOT_MINE | _FREE | {"sent": "same"},
    "overdue": _OPEN | _NOT_MINE | _FREE | {"sent": "same", "resend": "queued"},
    "handed on": _OPEN | _NOT_MINE | _FREE | {"sent": "same"},
    "mine": _OPEN | _HELD_BY_ME,
    "mine, first step done": _OPEN | _HELD_BY_ME | {"checkpoint": "same"},
    "mine, last step": _OPEN | _HELD_BY_ME | {"checkpoint": "CURSOR_MOVED", "checkpoint 2": "completed"},
    "mine, last attempt": _OPEN | _HELD_BY_ME | {"fail": "dead"},
    "theirs": _OPEN | _NOT_MINE | {"sent": "same", "acquire": "LOCKED", "bury": "LOCKED"},
    "lost": _LOST | {"acquire": "running"},
    "lost for the third time": _LOST | {"acquire": "dead"},
    "lost, last attempt": _LOST | {"acquire": "dead"},
    "failed": _OPEN | _NOT_MINE | {"sent": "same", "acquire": "NOT_DUE", "bury": "dead"},
    "failed, due": _OPEN | _NOT_MINE | _FREE | {"sent": "same", "resend": "failed"},
    "completed": _OVER,
    "dead": _OVER,
    "canceled": _OVER,
}


def _answered(run: Run, command: cmd.AnyCommand, now: int = NOW) -> str:
    answer = decide(run, command, now, POLICY)
    if isinstance(answer, Refusal):
        return answer.code
    return "same" if answer.run is run else answer.run.status.value


@pytest.mark.parametrize("where", RUNS)
@pytest.mark.parametrize("what", COMMANDS)
def test_every_command_in_every_status(where: str, what: str) -> None:
    """Each pair has the one answer that the grid has."""
    assert _answered(RUNS[where], COMMANDS[what]) == GRID[where][what]


def test_the_grid_reaches_every_move_of_the_table_and_no_other() -> None:
    """What `decide` does is the table: nothing else, and nothing in it is out of reach."""
    made: dict[str, set[tuple[Status, Status]]] = {kind: set() for kind in TRANSITIONS}
    for run in [*RUNS.values(), replace(RUNS["pending"], due_at=NOW)]:
        for command in COMMANDS.values():
            answer = decide(run, command, NOW, POLICY)
            if isinstance(answer, Decision) and answer.run is not run:
                made[str(type(command).__struct_config__.tag)].add((run.status, answer.run.status))
    assert made == {kind: set(moves) for kind, moves in TRANSITIONS.items()}


def test_backoff_is_the_contracts() -> None:
    """30, 120, 600 and then 1800 seconds, moved by chance within a fifth."""
    for failures, seconds in enumerate((*BACKOFF_SECONDS, 1800.0, 1800.0), start=1):
        assert POLICY.wait(failures, 0.5) == seconds * 1000
        assert POLICY.wait(failures, 0.0) == seconds * 800
        assert seconds * 1000 < POLICY.wait(failures, 0.999) <= seconds * 1200


def test_a_step_never_costs_more_than_was_held_for_it() -> None:
    """A step that claims more than its price is charged its price; less is believed."""
    for claimed, charged in ((10_000, 100), (100, 100), (40, 40), (-5, 0)):
        answer = decide(RUNS["mine"], cmd.Checkpoint(token=MINE, cursor=0, credits=claimed), NOW, POLICY)
        assert isinstance(answer, Decision)
        assert answer.run.credits_spent == charged


def test_a_continuation_keeps_its_attempt() -> None:
    """A run that was handed on goes on with the same attempt; any other acquisition is a new one."""
    handed = decide(RUNS["mine"], COMMANDS["hand on"], NOW, POLICY)
    assert isinstance(handed, Decision)
    again = decide(handed.run, COMMANDS["acquire"], NOW + 1, POLICY)
    assert isinstance(again, Decision)
    assert (handed.run.sends, again.run.attempts, again.run.continued) == (2, 1, False)
    assert _attempts(RUNS["failed, due"]) == _attempts(RUNS["lost"]) == 2


def _attempts(run: Run) -> int:
    answer = decide(run, COMMANDS["acquire"], NOW, POLICY)
    assert isinstance(answer, Decision)
    return answer.run.attempts


class Moves(RuleBasedStateMachine):
    """One run, several workers, a clock that jumps, and everybody's commands at any time."""

    @initialize(costs=st.lists(st.integers(0, 500), min_size=1, max_size=5).map(tuple))
    def begin(self, costs: tuple[int, ...]) -> None:
        """A run with its credits held."""
        self.now = NOW
        self.run = new_run(costs=costs)
        self.wallet = reserve(Wallet(workspace_id="acme", available=5000, deposited=5000), sum(costs))
        self.events: list[str] = []
        self.done: list[int] = []
        self.tokens: list[str] = ["nobody's"]

    def _do(self, command: cmd.AnyCommand) -> Decision | None:
        before = self.run
        answer = decide(before, command, self.now, POLICY)
        if isinstance(answer, Refusal):
            return None
        after = self.run = answer.run
        if after is before:
            assert answer.settlement is None
            assert answer.event is None
            return answer
        kind = str(type(command).__struct_config__.tag)
        assert (before.status, after.status) in TRANSITIONS[kind]
        assert after.version == before.version + 1
        assert after.step_cursor - before.step_cursor == (kind == "checkpoint")
        assert (answer.settlement is not None) == (answer.event is not None) == after.terminal
        if answer.settlement is not None and answer.event is not None:
            self.wallet = settle(self.wallet, answer.settlement)
            self.events.append(answer.event.name)
        return answer

    @rule(ms=st.one_of(st.integers(-5_000, 5_000), st.integers(0, 4_000_000)))
    def wait(self, ms: int) -> None:
        """Time passes, sometimes backwards."""
        self.now += ms

    @rule()
    def acquire(self) -> None:
        """A worker comes, each with a token of its own."""
        token = f"token-{len(self.tokens)}"
        self.tokens.append(token)
        self._do(cmd.Acquire(owner="w", token=token))

    @rule(who=st.integers(0, 20), cursor=st.integers(-1, 1), cost=st.integers(-10, 600))
    def checkpoint(self, who: int, cursor: int, cost: int) -> None:
        """Some worker, perhaps one of long ago, says that some step is done."""
        at = self.run.step_cursor + cursor
        token = self.tokens[-1 - who % len(self.tokens)]
        held = self.run.lock.token if self.run.lock is not None else None
        before = self.run
        made = self._do(cmd.Checkpoint(token=token, cursor=at, credits=cost))
        if made is not None and self.run is before:
            assert (token, cursor) == (held, -1), "only the holder, only what it has said before"
        elif made is not None:
            assert (token, cursor) == (held, 0), "only the holder, only the next step"
            self.done.append(at)

    @rule(who=st.integers(0, 20), kind=st.sampled_from(["beat", "fail", "poison", "hand on"]))
    def say(self, who: int, kind: str) -> None:
        """Some worker says something."""
        token = self.tokens[-1 - who % len(self.tokens)]
        self._do(replace(COMMANDS[kind], token=token))

    @rule(kind=st.sampled_from(["sent", "resend", "bury"]))
    def wake(self, kind: str) -> None:
        """The queue's side."""
        self._do(COMMANDS[kind])

    @precondition(lambda self: len(self.tokens) > 3)
    @rule()
    def cancel(self) -> None:
        """Somebody has seen enough."""
        self._do(cmd.Cancel())

    @invariant()
    def promises(self) -> None:
        """What holds of every run at every moment."""
        run = getattr(self, "run", None)
        if run is None:
            return
        assert broken(run) == []
        assert self.done == list(range(run.step_cursor)), "each step once, in order"
        wallet = self.wallet
        assert wallet.available + wallet.reserved + wallet.spent == wallet.deposited
        assert wallet.reserved == run.credits_reserved == (0 if run.terminal else run.credits_estimate)
        assert wallet.spent == (run.credits_spent if run.terminal else 0)
        names = {Status.COMPLETED: [COMPLETED], Status.DEAD: [COMPLETED], Status.CANCELED: [CANCELED]}
        assert self.events == names.get(run.status, [])
        assert run.terminal == (run.status in TERMINAL)


TestMoves = Moves.TestCase
TestMoves.settings = settings(max_examples=150, stateful_step_count=40)
