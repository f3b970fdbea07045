"""What every queue of runs must do.

Bind it so:

    class TestMyQueue(RunQueueSuite):
        @pytest.fixture
        async def harness(self):
            work, dead = MyQueue(...), MyQueue(...)
            yield QueueHarness(
                work=work, dead=dead, another=..., advance=..., max_receives=8, fences_receipts=True
            )
            await work.close()
            await dead.close()

Both queues are empty. `another()` opens the work queue once more, as another process would;
`advance(seconds)` lets that much of the queue's time pass: a turn of its clock, or real waiting.
"""

from __future__ import annotations

from lucius.testing.lifebook.queue_harness import QueueHarness
from lucius.testing.lifebook.queue_lending import RunQueueLending
from lucius.testing.lifebook.queue_settling import RunQueueSettling

__all__ = ["QueueHarness", "RunQueueSuite"]


class RunQueueSuite(RunQueueLending, RunQueueSettling):
    """The promises of the queue port. Bind `harness` and inherit."""
