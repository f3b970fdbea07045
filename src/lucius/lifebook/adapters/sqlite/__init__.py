"""Lifebook runs in one SQLite file that several processes of a machine share: runs, triggers, both queues.

    LifebookFile   the file: one connection, one thread, one transaction for all who ask meanwhile
    SqliteRuns     runs, wallets, events that wait        SqliteTriggers   schedules, hooks
    SqliteQueue    messages; one instance for each queue

What was acknowledged is on the disk (WAL, `synchronous=FULL`; for loans see `queue.py`). Another process may
hold the file for a while: a write waits for it in the thread, up to a bound, then hears `Unavailable`, and
nothing of it was done. In memory (`:memory:`) all of it works alike, for one process, and ends with it.
Whoever opened the file closes it.
"""

from __future__ import annotations

from lucius.lifebook.adapters.sqlite.file import LifebookFile
from lucius.lifebook.adapters.sqlite.queue import SqliteQueue
from lucius.lifebook.adapters.sqlite.runs import SqliteRuns
from lucius.lifebook.adapters.sqlite.triggers import SqliteTriggers

__all__ = ["LifebookFile", "SqliteQueue", "SqliteRuns", "SqliteTriggers"]
