"""Deterministic simulation of the temporal engine: the real parts, and a model of Temporal between them.

Real are the workflow (run by the SDK's own workflow instance, fed with activations), the activities, the
invoker's desk with relay, intake and drift duties, the orchestrator's engine and duty, the ledger, the bus
and the core. Modelled are what Temporal's server and worker promise: a durable history per workflow,
workflow tasks that are lost and replayed, activities that are tried again and may run beside their late
twin, timers, signals, cancellation, termination, continue-as-new, execution timeouts, and a clock of its
own.

    plan.py       what the seed draws beyond the other simulation's plan
    instance.py   one run of the real workflow code, fed with activations
    execution.py  what the server keeps of one workflow
    server.py     the server: signals, workflow tasks, timers, endings
    activities.py activity tasks: tries, timeouts, late twins
    client.py     a client of it, as the engine's code knows one: refused, late, unanswered, doubled
    stores.py     ledger and bus in the hands of one process among several
    process.py    a process that can be killed at any await, and calls that reach it or do not
    roles.py      orchestrator, invoker and worker
    watch.py      the promises of this engine beyond those of the core
    schedule.py   puts a seed together and runs it
"""

from lucius.testing.simulation.temporal.schedule import run_schedule, run_schedules

__all__ = ["run_schedule", "run_schedules"]
