from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from obstore.store import LocalStore

from lucius.sdk.attempts.objects import ObjectAttempts
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.ports import Attempts
from lucius.testing.attempts_machine import AttemptsMachine


class SqliteMachine(AttemptsMachine):
    """A SQLite file under any program of operations and restarts."""

    async def new_attempts(self) -> Attempts:
        """A file of its own."""
        self.directory = Path(tempfile.mkdtemp(prefix="attempts-"))
        return SqliteAttempts(self.directory / "attempts.db")

    async def reopen(self, attempts: Attempts) -> Attempts:
        """The same file."""
        await attempts.close()
        return SqliteAttempts(self.directory / "attempts.db")

    def teardown(self) -> None:
        """Leave nothing behind."""
        super().teardown()
        shutil.rmtree(self.directory)


class ObjectMachine(AttemptsMachine):
    """Objects in a directory under any program of operations and restarts."""

    async def new_attempts(self) -> Attempts:
        """A directory of its own."""
        self.directory = Path(tempfile.mkdtemp(prefix="attempts-"))
        return ObjectAttempts(LocalStore(self.directory, automatic_cleanup=True), "attempts")

    async def reopen(self, attempts: Attempts) -> Attempts:
        """The same directory."""
        await attempts.close()
        return ObjectAttempts(LocalStore(self.directory, automatic_cleanup=True), "attempts")

    def teardown(self) -> None:
        """Leave nothing behind."""
        super().teardown()
        shutil.rmtree(self.directory)


TestSqliteMachine = SqliteMachine.TestCase
TestObjectMachine = ObjectMachine.TestCase
