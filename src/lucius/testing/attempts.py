"""What every memory of a service must do.

Bind it so:

    class TestMyAttempts(AttemptsSuite):
        @pytest.fixture
        async def harness(self):
            async def another():
                return MyAttempts(...)  # each time the same store

            harness = AttemptsHarness(attempts=await another(), another=another)
            yield harness
            await harness.attempts.close()

`attempts_machine` drives a store against a plain model.
"""

from __future__ import annotations

from lucius.testing.attempts_ending import AttemptsEnding
from lucius.testing.attempts_harness import LATER, NOW, SOON, AttemptsHarness
from lucius.testing.attempts_sharing import AttemptsSharing

__all__ = ["LATER", "NOW", "SOON", "AttemptsHarness", "AttemptsSuite"]


class AttemptsSuite(AttemptsSharing, AttemptsEnding):
    """The promises of the `Attempts` port. Bind `harness` and inherit."""
