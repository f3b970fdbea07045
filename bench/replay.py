"""The bare loop: what this disk and this SQLite can do when nothing else has to be done.

A plain apsw program. It opens a new file with the ledger's own tables and pragmas (WAL,
`synchronous=FULL`), and repeats the transactions that a real Lucius committed while it ran three-step
jobs over HTTP: the same statements with the same bytes, in the same order, with the same number of
writes to each row and the same batches. It has no HTTP, no bus, no services, decides nothing, builds
no record and encodes nothing; the rows lie ready in memory. What is timed is `BEGIN`, the statements and
`COMMIT` with its fsync, one after the other in one thread.

`python -m bench.replay RECORDING LEDGER` prints seconds, CPU seconds and the number of jobs.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import msgspec

from bench.recorder import Transaction
from lucius.adapters.ledgers.sqlite.files import open_writer
from lucius.adapters.ledgers.sqlite.schema import migrate


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """What the bare loop took."""

    seconds: float
    cpu_seconds: float
    jobs: int
    commits: int
    rows: int

    @property
    def rate(self) -> float:
        """Jobs a second."""
        return self.jobs / self.seconds


def replay(recording: Path, ledger: Path) -> Replay:
    """Run it in a process of its own, into a new file that is removed afterwards."""
    command = [sys.executable, "-m", "bench.replay", str(recording), str(ledger)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    for suffix in ("", "-wal", "-shm"):
        ledger.with_name(ledger.name + suffix).unlink(missing_ok=True)
    return msgspec.json.decode(done.stdout, type=Replay)


def write(transactions: list[Transaction], path: str) -> Replay:
    """Write them all."""
    connection = open_writer(path)
    migrate(connection)
    start, cpu = time.perf_counter(), time.process_time()
    for transaction in transactions:
        connection.execute("BEGIN IMMEDIATE")
        for sql, rows in transaction:
            connection.executemany(sql, rows)
        connection.execute("COMMIT")
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    jobs = connection.execute("SELECT count(*) FROM jobs WHERE state = 'SUCCEEDED'").get
    connection.close()
    return Replay(
        seconds=seconds,
        cpu_seconds=cpu,
        jobs=jobs,
        commits=len(transactions),
        rows=sum(len(rows) for transaction in transactions for _, rows in transaction),
    )


def main() -> None:
    """Read the recording, write it again."""
    transactions = msgspec.msgpack.decode(Path(sys.argv[1]).read_bytes(), type=list[Transaction])
    sys.stdout.buffer.write(msgspec.json.encode(write(transactions, sys.argv[2])))


if __name__ == "__main__":
    main()
