"""Bugs on purpose: the traps that designs of this kind fall into, each as a small change of our own code.

A plant is text that must occur exactly once in its file, and what it becomes. `found_by` is what has to
notice: seeds of the simulation, or one of the fast suites.
"""

from __future__ import annotations

from typing import NamedTuple

SIMULATION = ("-m", "lucius.testing.simulation", "--first", "--schedules", "1000")
DECIDE = "core/decide/"
LEDGER = "adapters/ledgers/sqlite/"


def suite(*names: str) -> tuple[str, ...]:
    """Some tests, until the first that fails."""
    return ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *(f"tests/{name}" for name in names))


class Plant(NamedTuple):
    """One bug."""

    trap: str
    what: str
    file: str
    old: str
    new: str
    found_by: tuple[str, ...] = SIMULATION


INGRESS = (
    Plant(
        "A1", "two writers may both find that a key is free", LEDGER + "ledger.py",
        "for batch in (self._filling, self._writing):", "for batch in ():",
    ),
    Plant(
        "A1", "a process believes what it has read although another has written", LEDGER + "shared_desk.py",
        "            self.forget()\n            self._version", "            self._version",
        suite("conformance/test_shared_ledger_sharing.py"),
    ),
    Plant(
        "A7", "what a batch took is counted twice once it is durable", LEDGER + "shared_slots.py",
        "self._moved.clear()\n        self._moved_burst.clear()\n\n    def forget", "pass\n\n    def forget",
        suite("conformance/test_shared_ledger_sharing.py"),
    ),
    Plant(
        "A2", "the key is not written with its job", LEDGER + "batch.py",
        "(CLAIMS, self.claim_rows),", "(CLAIMS, []),",
    ),
    Plant(
        "A3", "a job is committed without its first attempt", DECIDE + "opening.py",
        "    settle(draft)\n", "", suite("core/test_promises.py"),
    ),
    Plant(
        "A4", "a key answers with its job whatever the body says", "usecases/submit.py",
        "if opened.duplicate and opened.job", "if False and opened.job",
        suite("acceptance/test_once.py::test_one_key_with_another_body_is_refused_with_pointers"),
    ),
    Plant(
        "A5", "given and derived keys share one space", "core/idempotency.py",
        'key=f"k:{hashed}"', 'key=f"d:{hashed}"',
        suite("core/test_idempotency.py::test_keys_are_stored_hashed"),
    ),
    Plant(
        "A6", "canonical JSON is home-made", "core/idempotency.py",
        "if _encoders_agree(value):", "if True:", suite("core/test_idempotency.py"),
    ),
    Plant(
        "A7", "slots of ended jobs are not given back", LEDGER + "tally.py",
        "old.order.routing.mode, old.state, -1)", "old.order.routing.mode, old.state, 0)",
    ),
    Plant(
        "A7", "slots are not counted again after a restart", LEDGER + "ledger.py",
        "Tally(*self.reader.open_counts())", "Tally((), 0, ())",
    ),
    Plant(
        "A8", "paused jobs keep their slot", "core/states.py",
        "COUNTED_JOB = frozenset(J) - TERMINAL_JOB - {J.PAUSED}", "COUNTED_JOB = frozenset(J) - TERMINAL_JOB",
    ),
    Plant(
        "A9", "a derived key is kept when its job fails", LEDGER + "ledger.py",
        "return None if released else job", "return job", suite("conformance/test_sqlite_ledger.py"),
    ),
)  # fmt: skip

DISPATCH = (
    Plant(
        "B1", "publishing again makes a new attempt", "core/evolve.py",
        "replace(_attempt(step), publish_tries", "replace(_attempt(step), attempt_no=9, publish_tries",
    ),
    Plant(
        "B1", "a bus that is away costs attempts", DECIDE + "timers.py",
        "    tries = step.attempt.publish_tries + 1\n",
        '    tries = step.attempt.publish_tries + 1\n    if tries > 1:\n'
        '        fail_step(draft, step, "dispatch", command.error)\n        return Verdict.ACCEPTED\n',
    ),
    Plant(
        "B2", "the relay is told before the commit", LEDGER + "ledger.py",
        "        self._writing = batch\n",
        "        self._writing = batch\n        for early in self._listeners:\n"
        "            early(batch.changes)\n        batch.changes = []\n",
    ),
    Plant(
        "B4", "what was stopped is still published", "dispatch/relay.py",
        "        if job.state in RUNNING_JOB:\n            return\n", "        return\n",
    ),
    Plant(
        "B4", "recovery publishes what is paused", LEDGER + "reader.py",
        " AND j.state IN ('QUEUED', 'DISPATCHING', 'IN_PROGRESS'))", ")",
    ),
    Plant(
        "B5", "the bytes differ when sent again", LEDGER + "rows.py",
        'fields["body"] = fields["body"].encode()', 'fields["body"] = fields["body"].encode() + b" "',
    ),
    Plant(
        "B5", "the route is computed anew for each attempt", "dispatch/directives.py",
        "topic=routing.topic,", 'topic=f"global-bus-p{attempt.attempt_no}",',
    ),
    Plant(
        "B7", "every wake-up starts the probe's wait anew", "dispatch/relay.py",
        "            elif probe_at is None:\n", "            else:\n",
    ),
    Plant(
        "S11", "a paused job's directive is counted as published", DECIDE + "timers.py",
        "step.state is StepState.DISPATCHING and draft.job.state in RUNNING_JOB\n    if not",
        "step.state is StepState.DISPATCHING\n    if not",
    ),
)  # fmt: skip

REPLIES = (
    Plant(
        "C1", "a result counts only after an ACK", DECIDE + "replies.py",
        "        _acknowledge(draft, current)\n    step = draft.job",
        '        return _refuse(draft, reply, "RESULT", Verdict.STALE_LEASE)\n    step = draft.job',
    ),
    Plant(
        "C2", "the next attempt is not in the commit of the success", DECIDE + "replies.py",
        "result=report)\n        settle(draft)\n", "result=report)\n",
    ),
    Plant(
        "C4", "any attempt may answer", DECIDE + "replies.py",
        "if attempt is None or attempt.attempt_no != reply.attempt_no or attempt.lease_id != reply.lease_id:",
        "if attempt is None:",
    ),
    Plant(
        "C4", "the last of two results wins", DECIDE + "replies.py",
        "if step.result is not None:", "if False:",
    ),
    Plant(
        "C5", "one attempt too many", DECIDE + "progress.py",
        "elif failures + 1 >= budget:", "elif failures >= budget:",
    ),
    Plant(
        "C5", "dispatch and execution failures share a counter", "core/evolve.py",
        'execution_failures=step.execution_failures + (event.track == "execution")',
        "execution_failures=step.execution_failures + 1",
        suite("core/test_evolve.py", "core/test_decide_timers.py", "core/test_promises.py"),
    ),
    Plant(
        "C6", "a retry waits with nothing due", "core/timing.py",
        "return step.retry_at if state is StepState.FAILED_RETRY else None", "return None",
    ),
    Plant(
        "C6", "nobody sweeps what is due", "engines/outbox/due.py",
        "ids = await self._ledger.due(self._clock(), self._page)", "ids: list[str] = []",
    ),
    Plant(
        "C7", "steps stay pending when their job has failed", DECIDE + "progress.py",
        "    cancel_open_steps(draft)\n    draft.emit(ev.JobFailed", "    draft.emit(ev.JobFailed",
    ),
    Plant(
        "C8", "the protocol is not kept with the job", LEDGER + "rows.py",
        "protocol=read_protocol(protocol_body))",
        "protocol=replace(read_protocol(protocol_body), version='9'))",
    ),
    Plant(
        "C11", "events are ordered by their time", LEDGER + "reader.py",
        "ORDER BY seq LIMIT", "ORDER BY at, seq DESC LIMIT",
    ),
    Plant(
        "S14", "a refused reply leaves more than its event", "core/evolve.py",
        "ev.ReplyRefused: lambda job, event: replace(job, version=event.seq)",
        "ev.ReplyRefused: lambda job, event: replace(job, version=event.seq, updated_at=event.at)",
    ),
    Plant(
        "S16", "a failed job has an output", "core/evolve.py",
        "completed_at=event.at, error=event.error)",
        "completed_at=event.at, error=event.error, final_output=job.order.output_ref)",
    ),
)  # fmt: skip

CONTROL = (
    Plant(
        "D1", "a cancel with nothing in flight waits", DECIDE + "control.py",
        "if command.force or not in_flight(job):", "if command.force:",
    ),
    Plant(
        "D2", "a job that is being cancelled never ends", DECIDE + "progress.py",
        "        if not in_flight(job):\n            finish_cancel(draft, None)\n", "        pass\n",
    ),
    Plant(
        "D2", "the lease ends while cancelling and nobody looks", "core/timing.py",
        "    if attempt is None:\n", "    if attempt is None or job.state is JobState.CANCELLING:\n",
    ),
    Plant(
        "D3", "the last result beats the cancel", DECIDE + "progress.py",
        "if job.state is JobState.CANCELLING:\n        if not",
        "if job.state is JobState.CANCELLING and job.steps[-1].result is None:\n        if not",
    ),
    Plant(
        "D4", "a paused job starts its next step", DECIDE + "progress.py",
        "    elif job.state is JobState.PAUSING:\n        if not in_flight(job):\n"
        "            draft.emit(ev.JobPaused)\n    elif job.state in RUNNING_JOB:\n",
        "    else:\n",
    ),
    Plant(
        "D5", "resuming makes a second directive", DECIDE + "control.py",
        "draft.republish.append(step.index)", "create_attempt(draft, step)",
    ),
    Plant(
        "D5", "the clocks of a pause are not given back", "core/evolve.py",
        "dispatch_deadline_at=old.dispatch_deadline_at + event.paused_for,",
        "dispatch_deadline_at=old.dispatch_deadline_at,",
        suite("core/test_decide_control.py", "core/test_evolve.py", "core/test_timing.py"),
    ),
    Plant(
        "D6", "resuming forgets a step that waits for its retry", DECIDE + "control.py",
        "        elif step.state is StepState.FAILED_RETRY:\n            create_attempt(draft, step)\n", "",
        suite("core/test_decide_control.py"),
    ),
    Plant(
        "S1", "a job that is over can be cancelled", DECIDE + "control.py",
        '    if job.terminal:\n        return _terminal(draft, "cancelled")\n', "",
    ),
)  # fmt: skip

STORAGE = (
    Plant(
        "S9", "answered before it is durable", LEDGER + "ledger.py",
        "        self._filling.waiting.append((future, value))\n",
        "        self._filling.waiting.append((future, value))\n        future.set_result(value)\n",
    ),
    Plant(
        "G1", "the ledger does not wait for the disk", LEDGER + "files.py",
        "PRAGMA synchronous = FULL;", "PRAGMA synchronous = OFF;",
        suite("conformance/test_sqlite_durability.py", "conformance/test_sqlite_opening.py"),
    ),
    Plant(
        "G2", "the ledger carries on after a failed commit", LEDGER + "ledger.py",
        "            self._fail(batch, failure)\n            return\n", "            pass\n",
    ),
)  # fmt: skip

CATALOGUE = INGRESS + DISPATCH + REPLIES + CONTROL + STORAGE
