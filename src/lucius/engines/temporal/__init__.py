"""The temporal engine: a workflow drives each job, the invoker alone writes and tells.

    orchestrator     engine.py    accepts orders: rows first, then the workflow (starting.py, lost_starts.py)
    temporal worker  workflow.py  a run per job; pilot.py is its replica of the job, activities.py its hands
    invoker          desk.py      judges, commits, publishes; signalling.py tells the run; drift.py compares

Both sides run the same `decide`. A reply, a command or a timeout counts when the ledger has committed it,
by the ledger's clock; the workflow hears of it and decides what to start next, and only the workflow draws
attempts and leases. Everything that passes between them names the ledger's version, so whatever is late,
doubled or lost is seen: what is not newer is ignored, and whoever disagrees asks.

How it fails: a lost start is started again; a reply is settled only after the workflow was told; a
workflow that closed early has its row closed by the drift check. Calls are safe to repeat.
"""
