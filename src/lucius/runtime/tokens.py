"""Callback tokens with this installation's keys and clock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.ports.duties import Report
from lucius.security.callback_keys import TOKEN_LIFETIME_MS
from lucius.security.callback_tokens import Binding, mint, verify

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.adapters.keyrings.callback_key_file import CallbackKeyFile
    from lucius.core.job import Attempt, Job


class AttemptTokens:
    """Mints for directives, verifies for callbacks, and rereads its keys as a duty."""

    name = "callback-keys"
    interval = 20.0

    def __init__(self, file: CallbackKeyFile, *, clock: Callable[[], int]) -> None:
        self._file = file
        self._clock = clock
        self._keys = file.load_or_create(clock())

    def mint(self, job: Job, step_id: str, attempt: Attempt) -> str:
        """The token of an attempt; everything in it comes from the attempt."""
        binding = Binding(
            tenant_id=job.order.tenant_id,
            job_id=job.order.job_id,
            step_id=step_id,
            attempt_no=attempt.attempt_no,
            lease_id=attempt.lease_id,
        )
        return mint(binding, self._keys.signing(attempt.created_at), attempt.created_at + TOKEN_LIFETIME_MS)

    def verify(self, token: str, binding: Binding) -> None:
        """Raise unless the token fits the attempt."""
        verify(token, binding, self._keys, self._clock())

    async def run_once(self) -> Report:
        """Take over keys that were rotated."""
        fresh = self._file.reload()
        if fresh is not None:
            self._keys = fresh
        return Report(duty=self.name, acted=fresh is not None)
