"""The outbox engine: the ledger is the truth, the bus is told after the commit.

    engine.py      asks `decide`, commits the answer with its directives beside it
    due.py         the reconciler: whatever is due gets a `Tick`

What goes to the bus and comes from it passes through `lucius.dispatch`. A crash costs nothing: an attempt
and its directive are durable before anything is published, and whatever was not acknowledged goes out
again with the same bytes, attempt and lease.
"""
