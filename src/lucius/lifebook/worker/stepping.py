"""The steps of a run that is held, one after another, each with its checkpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from lucius.errors import LuciusError
from lucius.lifebook.core.commands import Checkpoint, Fail, HandOn
from lucius.lifebook.core.run import Run, envelope_of
from lucius.lifebook.ports.queue import Delivery, RunQueue
from lucius.lifebook.ports.watching import UNWATCHED, Watch
from lucius.lifebook.worker.executing import Ending, Failed, Stopped, execute
from lucius.lifebook.worker.holding import Held
from lucius.lifebook.worker.lines import about_step
from lucius.lifebook.workflows import Registry, Step, StepContext, Workflow

RESERVE_SECONDS = 5.0
"""Kept for the last writes before a time limit."""
GRACE_SECONDS = 1.0
"""How long a step may take to stop by itself before it is cancelled."""
_log = structlog.get_logger("lucius.lifebook")

TimeLeft = Callable[[], float]
"""Seconds until this worker is ended from outside."""


def plenty() -> float:
    """No limit."""
    return float("inf")


class Stepping:
    """Runs steps; stops between two of them when there is no time for the next."""

    def __init__(
        self, queue: RunQueue, registry: Registry, *, spread: Callable[[], float], watch: Watch = UNWATCHED
    ) -> None:
        self.draining = False
        self._queue = queue
        self._registry = registry
        self._spread = spread
        self._watch = watch
        self._aborting = False
        self._held: set[Held] = set()

    def abort(self) -> None:
        """Stop what is in flight."""
        self._aborting = True
        for held in self._held:
            held.end("the worker stops")

    async def go(self, held: Held, delivery: Delivery, time_left: TimeLeft) -> bool:
        """All steps that can be run; whether the run was handed on, so that this message is done with."""
        self._held.add(held)
        beating = asyncio.create_task(held.beat(self._queue, delivery))
        try:
            return await self._all(held, time_left)
        finally:
            self._held.discard(held)
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def _all(self, held: Held, time_left: TimeLeft) -> bool:
        workflow = self._registry.find(held.run.workflow_id)
        wrong = _misfit(workflow, held.run)
        if workflow is None or wrong is not None:
            await self._fail(held, wrong or Failed(code="UNKNOWN_WORKFLOW", message="not registered here"))
            return False
        first = held.run.step_cursor
        while not held.run.terminal:
            step = workflow.steps[held.run.step_cursor]
            begun = held.run.step_cursor > first
            if self.draining or (begun and time_left() < step.usual_seconds + RESERVE_SECONDS):
                return await self._hand_on(held)
            seconds = max(min(step.timeout_seconds, time_left() - RESERVE_SECONDS), 0.001)
            ending = await self._one(held, step, seconds)
            if isinstance(ending, Stopped):
                return await self._hand_on(held) if self._aborting else await self._lost(held)
            if isinstance(ending, Failed):
                await self._fail(held, ending)
                return False
            done = await held.insist(
                Checkpoint(
                    token=held.token,
                    cursor=held.run.step_cursor,
                    credits=ending.credits if ending.credits is not None else step.credits,
                    artifact=ending.artifact,
                )
            )
            if done.refused is not None:
                return await self._lost(held)
        return False

    async def _one(self, held: Held, step: Step, seconds: float) -> Ending:
        """One step, ended early when the run is no longer ours."""
        with about_step(step.name), self._watch.step(held.run, step.name) as ended:
            ending = await self._work(held, step, seconds)
            ended(*_outcome(ending))
            return ending

    async def _work(self, held: Held, step: Step, seconds: float) -> Ending:
        run = held.run
        context = StepContext(
            job_id=run.job_id,
            workspace_id=run.workspace_id,
            user_id=run.user_id,
            workflow_id=run.workflow_id,
            step=step.name,
            attempt=run.attempts,
            max_attempts=run.max_attempts,
            input=run.input,
            artifacts=run.artifacts,
            trace_id=run.trace_id,
            token=held.stop,
            step_key=f"{run.job_id}/{run.step_cursor}",
        )
        working = asyncio.create_task(execute(step, context, seconds=seconds))
        stopped = asyncio.create_task(held.stopped.wait())
        both = {working, stopped}
        try:
            await asyncio.wait(both, timeout=seconds + GRACE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            if not working.done():
                await asyncio.wait({working}, timeout=GRACE_SECONDS)
            if working.done() and not working.cancelled():
                return working.result()
            if held.stopped.is_set():
                return Stopped()
            if working.cancelled():
                return Failed(code="STEP_RAISED", message="cancelled")
            held.stop.stop("the step took too long")
            return Failed(code="STEP_TIMEOUT", message=f"step {step.name} took too long and does not stop")
        finally:
            for task in both:
                task.cancel()
            # One that does not let itself be cancelled is left behind, as a thread is.
            await asyncio.wait(both, timeout=GRACE_SECONDS)

    async def _fail(self, held: Held, ending: Failed) -> None:
        run = held.run
        _log.warning(
            "attempt failed",
            job_id=run.job_id, workspace_id=run.workspace_id, trace_id=run.trace_id,
            step=run.steps[run.step_cursor].name, attempt=run.attempts,
            code=ending.code, reason=ending.message,
        )  # fmt: skip
        await held.insist(
            Fail(
                token=held.token, code=ending.code, message=ending.message,
                poison=ending.poison, spread=self._spread(),
            )
        )  # fmt: skip

    async def _hand_on(self, held: Held) -> bool:
        """Let somebody else go on, with a new message; without one this message comes back and does it."""
        handed = await held.insist(HandOn(token=held.token))
        if handed.refused is not None:
            return await self._lost(held)
        try:
            await self._queue.send(envelope_of(held.run), send_no=held.run.sends)
        except LuciusError as error:
            _log.warning("continuation not sent", job_id=held.run.job_id, code=error.code)
            return False
        return True

    async def _lost(self, held: Held) -> bool:
        _log.info("run let go", job_id=held.run.job_id, status=held.run.status.value, reason=held.stop.reason)
        return False


def _outcome(ending: Ending) -> tuple[str, str | None]:
    """How a step ended, for whoever watches."""
    if isinstance(ending, Failed):
        return "failed", ending.code
    return ("stopped" if isinstance(ending, Stopped) else "done"), None


def _misfit(workflow: Workflow | None, run: Run) -> Failed | None:
    """Why this worker's workflow is not the one the run was created for; None: it is, or is not known."""
    if workflow is None or tuple(step.name for step in workflow.steps) == tuple(s.name for s in run.steps):
        return None
    message = f"the steps of {run.workflow_id} are not those the run was created with; start a new run"
    return Failed(code="WORKFLOW_CHANGED", message=message, poison=True)
