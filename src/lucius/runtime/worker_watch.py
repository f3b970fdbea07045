"""Ends a temporal worker that has stopped to work without noticing, so that another takes its place.

Two things are watched. The event loop must turn: a thread looks at its last beat. And while tasks wait, this
worker must ask for them: Temporal says when it last did. Either way the stacks of all threads go to the log
first. A worker that ends loses nothing: what it had begun is begun again elsewhere.
"""

from __future__ import annotations

import asyncio
import faulthandler
import os
import sys
import threading
import time
from typing import TYPE_CHECKING

import structlog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from temporalio.client import Client

BEAT = 1.0
LOOK = 15.0
"""Seconds between two looks at the task queue."""
SILENT_LOOKS = 4
"""Looks in a row at which tasks waited and this worker had not asked since the one before."""
STANDSTILL = 60.0
"""Seconds without a beat after which the event loop counts as stuck."""
STUCK = 70
"""The exit code."""


class Asking:
    """What a worker's looks at its queue add up to."""

    def __init__(self) -> None:
        self._last = ""
        self._silent = 0

    def stuck(self, waiting: int, asked: str) -> bool:
        """Whether it is time to end. `asked`: when this worker last asked, as Temporal tells it."""
        silent = waiting > 0 and asked == self._last
        self._last = asked
        self._silent = self._silent + 1 if silent else 0
        return self._silent >= SILENT_LOOKS


class LoopWatch:
    """A thread that ends the process when the event loop stands still."""

    def __init__(self, standstill: float = STANDSTILL) -> None:
        self._standstill = standstill
        self._beat = time.monotonic()
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True, name="loop-watch").start()

    async def run(self) -> None:
        """Beat until cancelled."""
        try:
            while True:
                self._beat = time.monotonic()
                await asyncio.sleep(min(BEAT, self._standstill / 4))
        finally:
            self._over.set()

    def _watch(self) -> None:
        while not self._over.wait(self._standstill / 4):
            if time.monotonic() - self._beat > self._standstill:
                end("the event loop stands still")


async def watch_asking(look: Callable[[], Awaitable[tuple[int, str] | None]]) -> None:
    """Look until cancelled; `look` says how many tasks wait and when this worker last asked, if it can."""
    asking = Asking()
    while True:
        await asyncio.sleep(LOOK)
        found = await look()
        if found is not None and asking.stuck(*found):
            end("tasks wait, and this worker does not ask for them")


def queue_look(client: Client, task_queue: str) -> Callable[[], Awaitable[tuple[int, str] | None]]:
    """A look at the queue of workflow tasks."""
    from temporalio.api.enums.v1 import TaskQueueType
    from temporalio.api.taskqueue.v1 import TaskQueue
    from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest
    from temporalio.service import RPCError

    question = DescribeTaskQueueRequest(
        namespace=client.namespace,
        task_queue=TaskQueue(name=task_queue),
        task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_WORKFLOW,
        report_stats=True,
    )

    async def look() -> tuple[int, str] | None:
        try:
            found = await client.workflow_service.describe_task_queue(question)
        except RPCError:
            return None  # Temporal is away: nobody can ask for anything
        mine = [one for one in found.pollers if one.identity == client.identity]
        asked = max((one.last_access_time.ToJsonString() for one in mine), default="")
        return found.stats.approximate_backlog_count, asked

    return look


def end(reason: str) -> None:
    """Say why, show where every thread stands, and go."""
    structlog.get_logger("lucius.temporal").critical(
        "the worker is stuck and ends; start another", reason=reason
    )
    faulthandler.dump_traceback(file=sys.stderr, all_threads=True)
    os._exit(STUCK)
