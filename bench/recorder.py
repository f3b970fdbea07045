"""A Lucius that writes down every transaction of its ledger: what the bare loop will write again.

`python -m bench.recorder FILE up …` is `lucius up …` with a trace on the connection that writes (apsw's
own hook, nothing of Lucius is changed). At the end FILE holds a list of transactions, each a list of
(statement, rows).
"""

from __future__ import annotations

import atexit
import sys
from pathlib import Path
from typing import Any

import apsw
import msgspec

Transaction = list[tuple[str, list[list[Any]]]]


class Recorder:
    """Follows one connection."""

    def __init__(self) -> None:
        self.transactions: list[Transaction] = []
        self._open: Transaction | None = None

    def hook(self, connection: apsw.Connection) -> None:
        """Follow the connection that writes the ledger."""
        if Path(connection.filename).name == "ledger.db" and not connection.readonly("main"):
            connection.exec_trace = self.trace

    def trace(self, _: apsw.Cursor, sql: str, values: Any) -> bool:
        """One execution of one statement."""
        if sql.startswith("BEGIN"):
            self._open = []
        elif sql.startswith("COMMIT"):
            if self._open:
                self.transactions.append(self._open)
            self._open = None
        elif self._open is not None and values is not None:
            if not self._open or self._open[-1][0] != sql:
                self._open.append((sql, []))
            self._open[-1][1].append(list(values))
        return True


def main() -> None:
    """Record, then be the command line."""
    target = Path(sys.argv.pop(1))
    recorder = Recorder()
    apsw.connection_hooks.append(recorder.hook)
    atexit.register(lambda: target.write_bytes(msgspec.msgpack.encode(recorder.transactions)))
    from lucius.entrypoints.cli import main as command_line  # noqa: PLC0415  after the hook is in place

    command_line()


if __name__ == "__main__":
    main()
