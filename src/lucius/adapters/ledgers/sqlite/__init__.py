"""The ledger in a SQLite file: one writer with group commit, or several that share it.

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

Several processes of one machine share the same file, with the same rows, through `SharedSqliteLedger`;
how that works and fails is told in `shared_ledger.py`.

    shared_ledger.py    the port, for a file that others write too
    shared_queue.py     from the asking to the answer
    shared_desk.py      decisions, inside the transaction
    shared_slots.py     slots in use, counted when a judge asks
    shared_turns.py     whose turn it is to write; waiting and committing
    shared_census.py    counting everything, beside the event loop
    shared_opening.py   joining a file that is in use
"""

from lucius.adapters.ledgers.sqlite.ledger import SqliteLedger
from lucius.adapters.ledgers.sqlite.shared_ledger import SharedSqliteLedger

__all__ = ["SharedSqliteLedger", "SqliteLedger"]
