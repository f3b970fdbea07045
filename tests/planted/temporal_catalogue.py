"""Bugs on purpose in the temporal engine: what goes wrong where a ledger and a workflow must agree.

All are found by seeds of `lucius.testing.simulation.temporal`: the real engine on a model of Temporal.
"""

from __future__ import annotations

from tests.planted.catalogue import Plant

TEMPORAL = ("-m", "lucius.testing.simulation.temporal", "--first", "--schedules", "300")
ENGINE = "engines/temporal/"
DESK, PILOT, WORKFLOW = ENGINE + "desk.py", ENGINE + "pilot.py", ENGINE + "workflow.py"
TELLING, SIGNALLING = ENGINE + "telling.py", ENGINE + "signalling.py"
LEASE = 'lease = ask.lease_id if ask.known == job.version else ""'


def plant(trap: str, what: str, file: str, old: str, new: str, *, seed: int = 0) -> Plant:
    """A bug that the simulation must find; `seed` is where to begin, near one that is known to."""
    return Plant(trap, what, file, old, new, (*TEMPORAL[:2], "--seed", str(seed), *TEMPORAL[2:]))


TOLD = (
    plant(
        "E1", "a reply that comes again is not told", TELLING,
        "frozenset({Verdict.ACCEPTED, Verdict.DUPLICATE})", "frozenset({Verdict.ACCEPTED})",
    ),
    plant(
        "E1", "a reply is settled although its workflow could not be told", DESK,
        "            self._lateness.hindered()\n            raise\n", "            pass\n",
    ),
    plant(
        "E1", "results are not told", TELLING,
        "or isinstance(reply, cmd.Heartbeat):", "or not isinstance(reply, cmd.Ack):",
    ),
    plant(
        "E4", "signals that are late or doubled count", PILOT,
        "        if told.version <= self.job.version:\n            return\n", "",
    ),
    plant(
        "E4", "a signal that overtook another hides it", PILOT,
        "told.version != decision.job.version and _others", "False and _others", seed=1045,
    ),
    plant(
        "E4", "an answer that is older than a signal replaces it", PILOT,
        "if found.version >= self.job.version or", "if True or",
    ),
    plant(
        "E5", "a closed workflow is an error", SIGNALLING,
        "    if error.status is RPCStatusCode.NOT_FOUND:\n        return False\n", "", seed=65,
    ),
)  # fmt: skip

ATTEMPTS = (
    plant(
        "E2", "the invoker draws leases of its own", DESK,
        LEASE, 'lease = ask.lease_id if ask.known == job.version else f"{ask.lease_id}x{job.version}"',
    ),
    plant(
        "E2", "a late question starts an attempt on top of what it does not know", DESK,
        LEASE, "lease = ask.lease_id",
    ),
    plant(
        "E2", "every try of a question draws another lease", ENGINE + "activities.py",
        "found = await self._invoker.advance(ask)",
        "found = await self._invoker.advance(Advance(job_id=ask.job_id, tenant_id=ask.tenant_id, "
        'known=ask.known, lease_id=f"{id(ask):x}", spread=ask.spread))',
    ),
    plant(
        "E2", "the ledger starts what a reply makes ready", DESK,
        'chance = Chance(lease_id="", spread=spread)', 'chance = Chance(lease_id="reply", spread=spread)',
    ),
)  # fmt: skip

DRIFT = (
    plant(
        "E3", "the row of a closed workflow is left open", ENGINE + "closing.py",
        "        await self._apply(job_id, command)\n", "", seed=92,
    ),
    plant(
        "E3", "a job without a workflow is given up before it is started", ENGINE + "closing.py",
        "if ending is None or ending == NEVER:", "if ending is None:", seed=60,
    ),
    plant(
        "E6", "a lost start is never repaired", ENGINE + "lost_starts.py",
        "started += await self._starts.start(job)", "started += 1",
    ),
    plant(
        "E6", "a workflow that has ended is started again", ENGINE + "starting.py",
        "WorkflowIDReusePolicy.REJECT_DUPLICATE", "WorkflowIDReusePolicy.ALLOW_DUPLICATE", seed=138,
    ),
    plant(
        "S18", "nobody nudges what is overdue", ENGINE + "drift.py",
        "if await self._signals.nudge(job_id):", "if True:", seed=270,
    ),
    plant(
        "S18", "a workflow whose job is over is left open", ENGINE + "left_open.py",
        'found["left_open"] += await tell(job_id)', 'found["left_open"] += 1', seed=195,
    ),
)  # fmt: skip

RUNS = (
    plant(
        "L2", "a timer that has fired is not set again", WORKFLOW,
        "        if self._timer is not None:\n            if fires_at",
        "        if self._fires_at:\n            if True or fires_at", seed=46,
    ),
    plant(
        "S18", "a fresh run starts from the beginning", PILOT,
        "return replace(self._start, standing=standing(self.job), skew", "return replace(self._start, skew",
    ),
    plant(
        "S18", "a failed job's workflow completes", WORKFLOW,
        "if outcome.state is JobState.FAILED_FINAL:", "if outcome.state is None:",
    ),
)  # fmt: skip

TEMPORAL_CATALOGUE = TOLD + ATTEMPTS + DRIFT + RUNS
