from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lucius.sdk import Artifact, Step, service
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.ports import AttemptKey, Found
from lucius.wire.messages import ResultMessage
from tests.serving.world import LuciusDouble, directive, made


class SlowClaims(SqliteAttempts):
    """Takes its time over the claim of `job-2`: until claims were renewed twice meanwhile."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.renewed = asyncio.Event()
        self.rounds: list[list[str]] = []

    async def claim(self, key: AttemptKey, **given: Any) -> Found:
        """As ever, but late."""
        if key.job_id == "job-2":
            await self.renewed.wait()
        return await super().claim(key, **given)

    async def extend(self, keys: Sequence[AttemptKey], *, owner: str, until: int) -> list[bool]:
        """Counted."""
        self.rounds.append([key.job_id for key in keys])
        found = await super().extend(keys, owner=owner, until=until)
        if len(self.rounds) == 2:
            self.renewed.set()
        return found


async def test_an_attempt_that_is_being_claimed_is_not_taken_for_lost(tmp_path: Path) -> None:
    """A renewal that comes before a slow claim says nothing about that claim: its work is done and told."""
    lucius, attempts = LuciusDouble(), SlowClaims(tmp_path / "a.db")

    @service("COUNT", concurrency=2)
    async def count(step: Step[dict[str, Any]]) -> Artifact:
        await attempts.renewed.wait()
        return await step.workspace.write("out.txt", "done")

    runner = made(count, lucius, attempts, claim_seconds=0.3)
    task = asyncio.create_task(runner.run())
    lucius.deliver(directive(tmp_path, "job-1"))
    lucius.deliver(directive(tmp_path, "job-2"))
    await lucius.until(lambda: len(lucius.of(ResultMessage)) == 2)
    runner.stop()
    await task
    await attempts.close()
    assert [result.status for result in lucius.of(ResultMessage)] == ["SUCCEEDED", "SUCCEEDED"]
    assert attempts.rounds[:2] == [["job-1"], ["job-1"]]
