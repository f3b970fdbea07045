"""The promises of a service process, looked after while a schedule runs.

R1  one attempt is executed once, and only after Lucius was told that it begins
R2  a RESULT is in the store before it is sent, and whoever sends it sends the same bytes
R3  nothing is acknowledged before it is claimed, nor after its RESULT
R4  a directive is settled only when somebody answers for its attempt: a claim whose ACK was heard
R5  who heard that an attempt is lost says nothing more of it, except a RESULT that is refused
R6  an attempt is closed only when Lucius heard its RESULT, or said that it is over
R7  no more is taken than can be begun soon
R8  after a stop nothing runs on, and no attempt is left without a stored RESULT
R9  what a job's result points at lies in the folder of the accepted attempt, and is there
R10 a job succeeds, unless it was cancelled, its work can only fail, or its attempts ran out
R11 nobody's work is taken over while its process is well
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import apsw
import msgspec

from lucius.core.states import JobState
from lucius.sdk.serving.ports import AttemptKey, Heard
from lucius.wire.messages import AckMessage, HeartbeatMessage, ResultMessage, encode
from tests.serving.fault_plan import STEP_TYPE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from lucius.core.job import Job
    from tests.serving.fault_plan import RunnerPlan

Reply = AckMessage | HeartbeatMessage | ResultMessage
_ROW = """SELECT owner, result, told_at FROM attempts
WHERE job_id = ? AND step_id = ? AND attempt_no = ? AND lease_id = ?"""
_LEFT = (
    "SELECT job_id, step_id, attempt_no, lease_id, result FROM attempts WHERE told_at IS NULL AND owner = ?"
)


class Row(msgspec.Struct, frozen=True):
    """An attempt as it is stored."""

    owner: str
    result: bytes | None
    told_at: int | None


class Memory:
    """What one process was told and has done."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.tokens: dict[str, AttemptKey] = {}
        self.won: set[AttemptKey] = set()
        self.acked: set[AttemptKey] = set()
        self.reported: set[AttemptKey] = set()
        self.lost: set[AttemptKey] = set()
        self.unsettled: set[str] = set()
        self.stopping = False
        self.well = True
        """Neither dead nor asleep, and its store has answered: then its claims are renewed in time."""
        self.at_work: Callable[[], Collection[AttemptKey]] = tuple
        self.robbed = False
        """The store failed this process while it was stopping."""


class RunnerWatch:
    """Remembers what was promised."""

    def __init__(self, broken: list[str], store: str) -> None:
        self._broken = broken
        self._store = apsw.Connection(store)
        self._executed: dict[AttemptKey, str] = {}
        self._results: dict[AttemptKey, bytes] = {}
        self._heard: set[AttemptKey] = set()
        self._owners: dict[AttemptKey, Memory] = {}
        self.files: dict[str, bytes] = {}

    def close(self) -> None:
        """Let go of the store."""
        self._store.close()

    def row(self, key: AttemptKey) -> Row | None:
        """What the store says of an attempt."""
        found: list[Any] = self._store.execute(
            _ROW, (key.job_id, key.step_id, key.attempt_no, key.lease_id)
        ).fetchall()
        return Row(*found[0]) if found else None

    def owned(self, who: Memory, key: AttemptKey) -> None:
        """An attempt is claimed, or taken over."""
        before = self._owners.get(key, who)
        if before is not who and before.well and key in before.at_work():
            self._note("R11", key, f"{who.owner} takes over what {before.owner} works on")
        self._owners[key] = who

    def replying(self, who: Memory, key: AttemptKey, reply: Reply) -> None:
        """A process is about to say this."""
        kind = type(reply).__name__
        row = self.row(key)
        if row is None:
            self._note("R3", key, f"{kind} of an attempt that nobody has claimed")
        if isinstance(reply, ResultMessage):
            self._reporting(who, key, encode(reply), row)
            return
        if key in who.reported:
            self._note("R3", key, f"{kind} after the RESULT")
        if key in who.lost:
            self._note("R5", key, f"{kind} of an attempt that is lost")
        if isinstance(reply, HeartbeatMessage) and key not in who.acked:
            self._note("R3", key, "HEARTBEAT before the ACK was heard")

    def _reporting(self, who: Memory, key: AttemptKey, body: bytes, row: Row | None) -> None:
        who.reported.add(key)
        if row is None or row.result != body:
            self._note("R2", key, f"{who.owner} sends a RESULT that is not the stored one")
        if self._results.setdefault(key, body) != body:
            self._note("R2", key, f"{who.owner} sends another RESULT than was sent before")

    def answered(self, who: Memory, key: AttemptKey, reply: Reply, heard: Heard) -> None:
        """Lucius said this."""
        if isinstance(reply, ResultMessage):
            self._heard.add(key)
            if key in who.lost and heard.verdict == "accepted":
                self._note("R5", key, "the RESULT of a lost attempt was taken")
        elif heard.lost:
            who.lost.add(key)
        elif isinstance(reply, AckMessage):
            who.acked.add(key)

    def executing(self, who: Memory, key: AttemptKey) -> None:
        """The work begins."""
        if key in self._executed:
            self._note("R1", key, f"executed by {who.owner} after {self._executed[key]}")
        self._executed[key] = who.owner
        if key not in who.acked:
            self._note("R1", key, "executed before its ACK was heard")

    def refusing(self, who: Memory, reason: str) -> None:
        """A process calls a directive unreadable: there is none in this world."""
        self._note("R4", who.owner, f"puts a good directive aside: {reason}")

    def settling(self, who: Memory, tokens: Iterable[str]) -> None:
        """A process says that these are done."""
        for token in tokens:
            key = who.tokens[token]
            if self.row(key) is None:
                self._note("R4", key, "settled, and nobody has claimed it")
            elif key in who.won and key not in who.acked | who.lost:
                self._note("R4", key, "settled before its ACK was heard")

    def closing(self, who: Memory, key: AttemptKey) -> None:
        """A process says that there is nothing left to do."""
        if key not in self._heard and key not in who.lost and not (who.stopping and key not in who.acked):
            self._note("R6", key, f"closed by {who.owner}, and Lucius has not heard how it ended")

    def taking(self, who: Memory, limit: int, plan: RunnerPlan) -> None:
        """A process asks for directives."""
        if limit > plan.concurrency + plan.prefetch:
            self._note("R7", who.owner, f"asks for {limit} directives")

    def stopped(self, who: Memory, tasks: int) -> None:
        """A process has stopped in good order."""
        if tasks:
            self._note("R8", who.owner, f"{tasks} tasks run on after the stop")
        if who.robbed:
            return
        left: list[Any] = self._store.execute(_LEFT, (who.owner,)).fetchall()
        for job_id, step_id, attempt_no, lease_id, result in left:
            key = AttemptKey(job_id=job_id, step_id=step_id, attempt_no=attempt_no, lease_id=lease_id)
            if result is None and key in who.won:
                self._note("R8", key, "left open by a process that stopped in good order")

    def finish(self, jobs: Sequence[Job], plan: RunnerPlan) -> None:
        """Everything is over."""
        for job in jobs:
            for step in job.steps:
                if step.result is None or step.result.status != "SUCCEEDED" or step.attempt is None:
                    continue
                folder = (
                    f"{job.order.workspace_ref['uri'].rstrip('/')}/{STEP_TYPE}/{step.attempt.attempt_no}/"
                )
                uris = [ref["uri"] for ref in (step.result.output_ref or {}, *step.result.artifacts)]
                if not all(uri.startswith(folder) and uri in self.files for uri in uris):
                    self._note("R9", job.job_id, f"{step.step_id} points at {uris}, not into {folder}")
            poisoned = plan.poisoned(job.job_id)
            if job.state is JobState.SUCCEEDED and poisoned:
                self._note("R10", job.job_id, "succeeded, though its work can only fail")
            if job.state is JobState.FAILED_FINAL and plan.kind and not poisoned:
                self._note("R10", job.job_id, f"failed for {job.error}, though its faults were few")

    def _note(self, promise: str, key: AttemptKey | str, what: str) -> None:
        of = (
            key
            if isinstance(key, str)
            else f"{key.job_id[-4:]}/{key.step_id}/{key.attempt_no}/{key.lease_id}"
        )
        self._broken.append(f"{promise} {of}: {what}")
