"""Run one step: on the event loop, or in a thread of its own; bounded in time; every end is an `Ending`.

A plain function runs in a daemon thread: nobody can end it from outside, so when its time is over, or the
run was stopped, it is left behind with its token set, and whatever it still returns is not listened to.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
import traceback
from contextvars import copy_context
from typing import Any

import msgspec
import structlog

from lucius.lifebook.workflows import PoisonError, RunStoppedError, Step, StepContext, StepError, StepResult
from lucius.security.redaction import redact_text

MAX_ARTIFACT = 1024
MAX_PLACES = 12
_log = structlog.get_logger("lucius.lifebook")


class Failed(msgspec.Struct, frozen=True, kw_only=True):
    """The step did not do it."""

    code: str
    message: str
    poison: bool = False


class Stopped(msgspec.Struct, frozen=True, kw_only=True):
    """The step noticed that it should stop."""


Ending = StepResult | Failed | Stopped


async def execute(step: Step, context: StepContext, *, seconds: float) -> Ending:
    """What became of the step within `seconds`. Never raises, but for its own cancellation."""
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            if inspect.iscoroutinefunction(step.run):
                made = await step.run(context)
            else:
                made = await _in_thread(step, context)
        return _result(step, made)
    except RunStoppedError:
        return Stopped() if context.token.stopped else _raised(step, "RunStoppedError")
    except (PoisonError, StepError) as error:
        poison = isinstance(error, PoisonError)
        return Failed(code=_plain(error.code), message=_plain(error.message), poison=poison)
    except TimeoutError:
        if scope.expired():
            context.token.stop("the step took too long")
            return Failed(code="STEP_TIMEOUT", message=f"step {step.name} took longer than {seconds:g} s")
        return _raised(step, "TimeoutError")
    except (asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - the end of an attempt; SystemExit too is not the worker's
        # What it says may name people or repeat the input: neither record nor log has it.
        _log.warning(
            "step raised",
            job_id=context.job_id,
            step=step.name,
            raised=type(error).__name__,
            at=_places(error),
        )
        return _raised(step, type(error).__name__)


def _places(error: BaseException) -> list[str]:
    """Where it was raised, innermost last, without what was said or held there."""
    frames = traceback.extract_tb(error.__traceback__)[-MAX_PLACES:]
    return [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]


def _raised(step: Step, kind: str) -> Failed:
    return Failed(code="STEP_RAISED", message=f"step {step.name} raised {kind}")


def _plain(said: object) -> str:
    """What a step says of its failure, as every store can keep it: names of files may be no Unicode."""
    return redact_text(str(said)).encode(errors="replace").decode()


def _result(step: Step, made: Any) -> Ending:
    if made is None:
        return StepResult()
    if isinstance(made, str):
        made = StepResult(artifact=made)
    wrong = _wrong(made)
    if wrong is not None:
        message = f"step {step.name} returned {wrong}"
        return Failed(code="STEP_RESULT_INVALID", message=message, poison=True)
    result: StepResult = made
    return result


def _wrong(made: Any) -> str | None:
    """What is wrong with a result: nobody checked its fields, and a record with wrong ones cannot be read."""
    if not isinstance(made, StepResult):
        return f"{type(made).__name__}, not a reference or a StepResult"
    cost: Any = made.credits
    artifact: Any = made.artifact
    if cost is not None and (not isinstance(cost, int) or isinstance(cost, bool)):
        return f"{type(cost).__name__} as credits; they are whole hundredths"
    if artifact is None:
        return None
    if not isinstance(artifact, str) or artifact != artifact.encode(errors="replace").decode():
        return "an artifact that is no text of Unicode"
    if len(artifact) > MAX_ARTIFACT:
        return f"more than {MAX_ARTIFACT} characters; return a reference"
    return None


async def _in_thread(step: Step, context: StepContext) -> Any:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(made: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(made)
        else:
            future.set_exception(error)

    def work() -> None:
        made, error = None, None
        try:
            made = step.run(context)
        except BaseException as raised:  # noqa: BLE001 - it is told to whoever waits
            # SystemExit of a step is not the worker's, and a future refuses StopIteration.
            told = isinstance(raised, Exception) and not isinstance(raised, StopIteration)
            error = raised if told else RuntimeError(type(raised).__name__)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, made, error)

    # Lines and spans that the step writes belong to the run, as those of steps on the event loop do.
    name = f"step {step.name} of {context.job_id}"
    threading.Thread(target=copy_context().run, args=(work,), name=name, daemon=True).start()
    return await future
