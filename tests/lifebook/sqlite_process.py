"""A process at a lifebook file, for tests: what it has done it says line by line, so that it can be killed.

write <path>     creates runs, sends their messages and takes them, for ever; says each id when all is done
receive <path>   receives until there is nothing left; says the id of each message it was lent
"""

from __future__ import annotations

import asyncio
import sys
import time
from uuid import uuid4

from lucius.lifebook.adapters.sqlite import LifebookFile, SqliteRuns
from lucius.lifebook.core.run import envelope_of
from lucius.testing.lifebook.runs import new_run, taken
from tests.lifebook.sqlite_lifebook import new_queue

COST = 3
OPENING = 10**9


def now_ms() -> int:
    """Real time: processes share no other."""
    return int(time.time() * 1000)


async def write(path: str) -> None:
    """Runs, as many as there is time for, eight at once."""
    file = LifebookFile(path, clock=now_ms)
    store, queue = SqliteRuns(file), new_queue(file)

    async def live() -> None:
        while True:
            run = new_run(job_id=str(uuid4()), costs=(COST,))
            await store.create(run, opening=OPENING)
            await queue.send(envelope_of(run), send_no=1)
            await store.commit(run, taken(run))
            print(run.job_id, flush=True)  # noqa: T201 - this is how it is heard

    async with asyncio.TaskGroup() as group:
        for _ in range(8):
            group.create_task(live())


async def receive(path: str) -> None:
    """All there is, a few at a time."""
    file = LifebookFile(path, clock=now_ms)
    queue = new_queue(file)
    print("ready", flush=True)  # noqa: T201
    await asyncio.to_thread(sys.stdin.readline)
    while lent := await queue.receive(3, wait_seconds=0, hidden_seconds=600):
        for delivery in lent:
            print(delivery.message_id, flush=True)  # noqa: T201
    await file.close()


if __name__ == "__main__":
    asyncio.run({"write": write, "receive": receive}[sys.argv[1]](sys.argv[2]))
