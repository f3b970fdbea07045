from __future__ import annotations

import subprocess
import sys

import pytest

from lucius.engines.temporal.connection import Whereabouts, connect
from lucius.runtime.worker_watch import SILENT_LOOKS, STUCK, Asking, queue_look
from lucius.testing.temporal import TemporalServer

BLOCKED = """
import asyncio, threading
from lucius.runtime.worker_watch import LoopWatch

async def main():
    watch = LoopWatch(standstill=0.4)
    beating = asyncio.create_task(watch.run())
    await asyncio.sleep(0.1)
    threading.Event().wait(30)  # what should never happen on an event loop

asyncio.run(main())
"""


def test_a_loop_that_stands_still_ends_the_process_and_shows_where() -> None:
    """A worker whose event loop is blocked goes, and its log says in which line it stood."""
    done = subprocess.run([sys.executable, "-c", BLOCKED], capture_output=True, text=True, timeout=60)  # noqa: PLW1510
    assert done.returncode == STUCK
    assert "the event loop stands still" in done.stdout + done.stderr
    assert 'File "<string>"' in done.stderr


@pytest.mark.parametrize(
    ("looks", "stuck"),
    [
        ([(3, "then")] * (SILENT_LOOKS + 1), True),
        ([(3, "then")] * SILENT_LOOKS, False),
        ([(0, "then")] * 9, False),
        ([(3, str(turn)) for turn in range(9)], False),
        ([(3, "then"), (3, "then"), (0, "then"), (3, "then"), (3, "then"), (3, "then")], False),
    ],
)
def test_only_a_worker_that_lets_tasks_wait_is_stuck(looks: list[tuple[int, str]], stuck: bool) -> None:
    """Nothing to do is no reason to end, and neither is a queue that is worked off slowly."""
    asking = Asking()
    assert [asking.stuck(*look) for look in looks][-1] is stuck


async def test_temporal_says_how_much_waits_and_who_asks(temporal: TemporalServer) -> None:
    """A queue that nobody reads has no poller of ours; a server that is away says nothing at all."""
    client = await connect(Whereabouts(address=temporal.address), lazy=False)
    assert await queue_look(client, "nobody-reads-this")() == (0, "")
