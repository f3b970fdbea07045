from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.ports import Attempts
from lucius.testing.attempts import AttemptsHarness, AttemptsSuite


class TestSqliteAttempts(AttemptsSuite):
    """Attempts in a file, used by several connections, keep every promise of the port."""

    @pytest.fixture
    async def harness(self, tmp_path: Path) -> AsyncIterator[AttemptsHarness]:
        """A file of its own."""

        async def another() -> Attempts:
            return SqliteAttempts(tmp_path / "attempts.db")

        harness = AttemptsHarness(attempts=await another(), another=another)
        yield harness
        await harness.attempts.close()
