"""The embedded ledger: one SQLite file, one writer, group commit.

A change is decided on the event loop the moment it is asked for, against the newest decided state of
its job, and joins the open batch. While one batch is being committed with `synchronous=FULL` by a
thread, the next one fills; when a batch is durable, everybody in it is answered. Nothing is
answered, published or shown before that. A failed commit is final: the process stops accepting, ends,
and recovers from the file at its next start.

    ledger.py    the port
    batch.py     what one transaction will write
    writer.py    how it becomes durable
    tally.py     slots in use, counted from the jobs themselves
    reader.py    queries
    rows.py      records <-> rows
    schema.py    tables and migrations
    verify.py    whether a file keeps its promises (stored.py: one job of it)
    files.py     opening, locking, refusing what cannot be durable
"""

from lucius.adapters.ledgers.sqlite.ledger import SqliteLedger

__all__ = ["SqliteLedger"]
