"""Deterministic simulation of the real code: one seed is one schedule, and it always goes the same way.

The core, the SQLite ledger, the embedded bus, relay, intake, reconciler and engine run unchanged on an
event loop whose clock is virtual. Everything else is drawn from the seed: how long a commit or a message
takes, what the bus loses, delays or doubles, what services say (late, twice, against themselves, never),
what people ask, when the process is killed and for how long it is gone.

    loop.py      virtual time, one callback at a time, tasks that can be killed
    plan.py      what the seed draws, and the budget of faults
    disk.py      the ledger's file: commits that take time, fail, or happen without anybody hearing of it
    flaky.py     the embedded bus with faults
    life.py      one Lucius from start to kill
    services.py  platform services that outlive it
    clients.py   people who submit, ask again, pause, resume and cancel
    watch.py     the promises, checked after every commit, at every restart and at the end
    schedule.py  puts a seed together and runs it

A schedule fails with the first broken promise, and says the one line that replays it.
"""

from lucius.testing.simulation.schedule import Outcome, run_schedule, run_schedules

__all__ = ["Outcome", "run_schedule", "run_schedules"]
