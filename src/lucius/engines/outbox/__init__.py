"""The outbox engine: the ledger is the truth, the bus is told after the commit.

    engine.py      asks `decide`, commits the answer with its directives beside it
    directives.py  the bytes of a directive
    relay.py       publishes what was committed, fair by tenant, and says so to the ledger
    intake.py      takes replies from the bus and settles them once they are judged and durable
    recovery.py    after a start: what a volatile bus forgot is published again
    duties/        due jobs (the reconciler), retention

A crash costs nothing: an attempt and its directive are durable before anything is published, and
whatever was not acknowledged goes out again with the same bytes, attempt and lease.
"""
