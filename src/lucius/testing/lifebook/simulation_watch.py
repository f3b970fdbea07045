"""The promises of lifebook runs, held against the file after every transaction.

W1  what has ended never changes; what is open never vanishes
W2  a record changes by one legal move at a time; the cursor by one step, the attempts by one
W3  whoever writes as the holder is the holder; a lock is taken over only when it has ended
W4  no try before its backoff is over, no message sent again before its time
W5  credits: free + held + spent = deposited, held = open runs, spent = ended runs
W6  one event for each run that has ended, in the transaction that ended it, until it was told
W7  one run for each key
W8  a step runs where the cursor stands, once for each acquisition, and is done before its checkpoint
W9  a run is dead only for a reason that the rules have; canceled only if somebody asked
W10 the last message of a run that anybody may take is not deleted
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextvars import ContextVar
from typing import Any

import apsw
import msgspec

from lucius.lifebook.core.events import RunEvent
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.core.run import Run
from lucius.lifebook.core.states import TRANSITIONS, Status
from lucius.lifebook.workflows import StepContext, StepResult

_run = msgspec.json.Decoder(Run).decode
_MOVES = frozenset(move for moves in TRANSITIONS.values() for move in moves)
_LETTERS = "SELECT queue, json_extract(CAST(body AS TEXT), '$.job_id'), send_no FROM messages"


class Handling:
    """One delivery in the hands of one worker."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.tokens: set[str] = set()
        self.next: int | None = None
        """The step this one may run now; None: it holds nothing."""
        self.attempt = 0
        self.begun: set[int] = set()
        self.made: dict[int, StepResult] = {}
        self.ending: str | None = None
        """How the last step ended, if not well."""


HANDLING: ContextVar[Handling | None] = ContextVar("handling", default=None)


class Watch:
    """Knows everything, says what is wrong."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.broken: list[str] = []
        self.runs: dict[str, Run] = {}
        self.forgotten: dict[str, Run] = {}
        self.letters: Counter[tuple[str, str, int]] = Counter()
        """Messages by queue, run and number."""
        self.told: Counter[str] = Counter()
        self.lost: set[str] = set()
        """Runs of which the queue has lost a message."""
        self.cancels: set[str] = set()
        self.commits = 0
        self._outbox: set[str] = set()
        self._intents: dict[tuple[str, int], list[tuple[Run, Handling | None]]] = {}
        self._resent: dict[str, int] = {}
        self._seen = -1

    def promise(self, kept: bool, code: str, job_id: str, text: str) -> None:  # noqa: FBT001
        """Note a promise that was not kept."""
        if not kept:
            self.broken.append(f"{code} {job_id[-4:]}: {text}")

    def about(self, name: str, given: tuple[Any, ...]) -> None:
        """A call that is about to reach the store."""
        if name == "commit":
            run: Run = given[1].run
            self._intents.setdefault((run.job_id, run.version), []).append((run, HANDLING.get()))

    def told_of(self, event: RunEvent) -> None:
        """Analytics took an event."""
        known = self.runs.get(event.job_id) or self.forgotten.get(event.job_id)
        fits = known is not None and known.terminal and known.status is event.status
        self.promise(fits, "W6", event.job_id, f"{event.name} was told of a run that has not ended so")
        self.told[event.event_id] += 1

    # --- steps

    def begins(self, handling: Handling | None, context: StepContext, index: int) -> None:
        """A step begins."""
        job_id = context.job_id
        if handling is None or handling.next != index or index in handling.begun:
            where = None if handling is None else handling.next
            self.promise(False, "W8", job_id, f"step {index} begins where {where} is next")  # noqa: FBT003
            return
        handling.begun.add(index)
        made = {f"step-{at + 1}" for at in range(index)}
        self.promise(set(context.artifacts) == made, "W8", job_id, f"step {index} sees {context.artifacts}")
        self.promise(context.attempt == handling.attempt, "W8", job_id, f"told attempt {context.attempt}")

    # --- the file

    def look(self, connection: apsw.Connection) -> None:
        """After a transaction."""
        if connection.total_changes() == self._seen:
            return
        self._seen = connection.total_changes()
        self.commits += 1
        now = {
            run.job_id: run
            for (body,) in connection.execute("SELECT body FROM runs")
            for run in (_run(body),)
        }
        letters = Counter((queue, job, number) for queue, job, number in connection.execute(_LETTERS))
        for job_id, before in self.runs.items():
            after = now.get(job_id)
            if after is None:
                self.promise(before.terminal, "W1", job_id, "an open run is gone")
                self.forgotten[job_id] = before
            elif after != before:
                self._moved(before, after, letters)
        self._keys(now.values())
        self._deleted(now, letters)
        self.runs, self.letters = now, letters
        outbox = {event for (event,) in connection.execute("SELECT event_id FROM events")}
        self._events(outbox)
        self._money(list(connection.execute("SELECT workspace_id, reserved, spent FROM wallets")))

    def _moved(self, before: Run, after: Run, letters: Counter[tuple[str, str, int]]) -> None:
        job = before.job_id
        if before.terminal:
            self.promise(False, "W1", job, f"{before.status} became {after.status}")  # noqa: FBT003
            return
        by = self._author(after)
        self.promise(after.version == before.version + 1, "W2", job, "written without a new version")
        legal = (before.status, after.status) in _MOVES
        self.promise(legal, "W2", job, f"{before.status} became {after.status}")
        self.promise(after.step_cursor - before.step_cursor in (0, 1), "W2", job, "the cursor jumped")
        self.promise(after.attempts - before.attempts in (0, 1), "W2", job, "the attempts jumped")
        self.promise(after.attempts <= after.max_attempts, "W2", job, "too many attempts")
        if after.step_cursor > before.step_cursor:
            self._checkpointed(before, after, by)
        else:
            same = (before.credits_spent, before.artifacts) == (after.credits_spent, after.artifacts)
            self.promise(same, "W5", job, "charged without a step")
        self._held(before, after, by)
        self._waited(before, after)
        if after.status is Status.DEAD:
            self._died(before, after, by, letters)
        if after.status is Status.CANCELED:
            self.promise(job in self.cancels, "W9", job, "nobody asked to cancel it")
        if after.terminal:
            left = (after.lock, after.credits_reserved, after.next_attempt_at, after.due_at)
            self.promise(left == (None, 0, None, None), "W5", job, "an ended run holds something")
            done = after.step_cursor == after.steps_total
            self.promise(done == (after.status is Status.COMPLETED), "W2", job, "completed, not every step")

    def _author(self, after: Run) -> Handling | None:
        found = self._intents.pop((after.job_id, after.version), [])
        return next((by for run, by in found if run == after), None)

    def _checkpointed(self, before: Run, after: Run, by: Handling | None) -> None:
        job, index = before.job_id, before.step_cursor
        made = None if by is None else by.made.get(index)
        if by is None or made is None:
            self.promise(False, "W8", job, f"step {index} is done and nobody did it")  # noqa: FBT003
            return
        by.next = index + 1
        price = before.steps[index].credits
        spent = price if made.credits is None else min(max(made.credits, 0), price)
        self.promise(after.credits_spent - before.credits_spent == spent, "W5", job, "another price")
        right = after.artifacts == before.artifacts | {before.steps[index].name: made.artifact}
        self.promise(right, "W8", job, f"artifacts {after.artifacts}")

    def _held(self, before: Run, after: Run, by: Handling | None) -> None:
        """Whoever moves a running run is its holder, cancels it, or comes when the lock is over."""
        job, old, new, at = before.job_id, before.lock, after.lock, after.updated_at
        if new is not None:
            self.promise(new.expires_at <= at + self.policy.lease, "W3", job, "a lock without an end")
        if new is not None and (old is None or new.token != old.token):
            self.promise(old is None or old.expires_at <= at, "W3", job, "taken from who held it")
            again = int(not before.continued)
            self.promise(after.attempts == before.attempts + again, "W2", job, "an attempt miscounted")
            self.promise(after.crashes == before.crashes + (old is not None), "W2", job, "a crash miscounted")
            if by is None or new.token not in by.tokens:
                self.promise(False, "W3", job, "a lock with a token of nobody")  # noqa: FBT003
            else:
                by.next, by.attempt = after.step_cursor, after.attempts
            return
        self.promise(after.attempts == before.attempts, "W2", job, "an attempt that nobody began")
        if old is None or after.status is Status.CANCELED or (after.sends > before.sends and new is not None):
            return
        holder = by is not None and old.token in by.tokens
        over = after.status is Status.DEAD and old.expires_at <= at
        self.promise(
            holder or over, "W3", job, f"{before.status} to {after.status} by another than its holder"
        )

    def _waited(self, before: Run, after: Run) -> None:
        job, at, policy = before.job_id, after.updated_at, self.policy
        if before.next_attempt_at is not None and after.status is Status.RUNNING:
            self.promise(before.next_attempt_at <= at, "W4", job, "tried before its time")
        if after.status is Status.FAILED and before.status is Status.RUNNING:
            least = policy.wait(after.attempts, 0.0)
            waits = (after.next_attempt_at or 0) - at
            self.promise(waits >= least, "W4", job, f"waits {waits} ms after attempt {after.attempts}")
        if after.sends > before.sends and after.status is before.status:
            last = self._resent.get(job, 0)
            least = min(policy.send_patience, policy.lock_patience)
            self.promise(at - last >= least, "W4", job, f"sent again after {at - last} ms")
            self._resent[job] = at

    def _died(
        self, before: Run, after: Run, by: Handling | None, letters: Counter[tuple[str, str, int]]
    ) -> None:
        code, full = after.last_error_code, before.attempts >= before.max_attempts
        if code == "RECEIVES_EXHAUSTED":
            why = letters["dead", after.job_id, after.sends] > 0
        elif code == "WORKER_LOST":
            why = full
        elif by is not None and by.ending == "poison":
            why = True
        elif code == "POISON":
            why = before.crashes + 1 >= self.policy.poison_after
        else:
            why = full and by is not None and by.ending == "failed"
        self.promise(why, "W9", after.job_id, f"dead of {code}, attempt {after.attempts}")

    def _keys(self, runs: Iterable[Run]) -> None:
        for (_, key), number in Counter((run.workspace_id, run.idempotency_key) for run in runs).items():
            self.promise(number == 1, "W7", key, f"{number} runs have this key")

    def _deleted(self, now: dict[str, Run], letters: Counter[tuple[str, str, int]]) -> None:
        left = {job for _, job, _ in letters}
        for job in {job for queue, job, _ in self.letters if queue == "work"} - left - self.lost:
            run = now.get(job)
            takeable = run is not None and run.status in (Status.PENDING, Status.QUEUED)
            self.promise(not takeable, "W10", job, "its last message was deleted")

    def _events(self, outbox: set[str]) -> None:
        for gone in self._outbox - outbox:
            self.promise(self.told[gone] > 0, "W6", gone, "an event is gone that nobody was told")
        self._outbox = outbox
        known = Counter(event.rsplit(":", 1)[0] for event in outbox | set(self.told))
        for run in self.runs.values():
            kept = known[run.job_id] == int(run.terminal)
            self.promise(kept, "W6", run.job_id, f"{run.status} with {known[run.job_id]} events")

    def _money(self, wallets: list[tuple[str, int, int]]) -> None:
        for workspace, reserved, spent in wallets:
            runs = [run for run in self.runs.values() if run.workspace_id == workspace]
            held = sum(run.credits_estimate for run in runs if not run.terminal)
            gone = [run for run in self.forgotten.values() if run.workspace_id == workspace]
            used = sum(run.credits_spent for run in [*runs, *gone] if run.terminal)
            self.promise(
                (reserved, spent) == (held, used), "W5", workspace, f"{reserved}/{spent} not {held}/{used}"
            )
