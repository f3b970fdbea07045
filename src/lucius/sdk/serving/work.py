"""The work of one attempt, under its heartbeat: from a typed payload to a RESULT, or to nothing.

It ends in one of these ways:

- `execute` returns: SUCCEEDED.
- It raises Retryable or Final: FAILED_RETRY or FAILED_FINAL. Anything else it raises is a bug: FAILED_RETRY.
- It takes longer than the service's time limit: FAILED_RETRY, TIME_LIMIT.
- The attempt is lost: no RESULT. Somebody else has it, and this work is thrown away.
- The process stops: FAILED_RETRY, SERVICE_STOPPED. Better told now than found when the lease ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import structlog

from lucius.sdk.serving.cancel import CancelToken
from lucius.sdk.serving.meter import Meter
from lucius.sdk.serving.outcomes import Cancelled, Output, Retryable, StepFailure, output_of
from lucius.sdk.serving.pools import Hand, Processes
from lucius.sdk.serving.ports import Heard, Transport
from lucius.sdk.serving.pulse import Lease, Pulse
from lucius.sdk.serving.replies import described, failed, sound, succeeded
from lucius.sdk.serving.scratch import Scratch
from lucius.sdk.serving.service import Service
from lucius.sdk.serving.step import Step
from lucius.sdk.workspaces.stores import Stores
from lucius.security.redaction import redact_text
from lucius.wire.messages import DirectiveMessage, ResultMessage
from lucius.wire.timestamps import parse_iso

LOST: Final = "The attempt is no longer ours, so the work was stopped."
STOPPED: Final = Retryable("SERVICE_STOPPED", "The service was stopped before the work was done.")


class EndedError(Exception):
    """The work raised what is meant to end a process."""


class Work:
    """One attempt at work. `stop` and a lost lease end it from outside."""

    def __init__(
        self,
        service: Service[Any],
        directive: DirectiveMessage,
        *,
        transport: Transport,
        stores: Stores,
        processes: Processes,
        meter: Meter,
        clock: Callable[[], int],
        scratch_root: Path | None,
    ) -> None:
        self.directive = directive
        self._service = service
        self._stores = stores
        self._processes = processes
        self._meter = meter
        self._scratch_root = scratch_root
        self._log = structlog.get_logger("lucius.service")
        self._cancel = CancelToken()
        self._lease = Lease(_expiry(directive), clock)
        self._lost: str | None = None
        self._stopped = False
        self._task: asyncio.Task[Output] | None = None
        self._pulse = Pulse(
            directive,
            transport,
            lease=self._lease,
            cancel=self._cancel,
            on_lost=self.lose,
            meter=meter,
        )

    @property
    def heard_at(self) -> int | None:
        """When Lucius last answered."""
        return self._lease.heard_at

    def is_lost(self) -> bool:
        """Whether the attempt is somebody else's by now."""
        return self._lost is not None

    def hear(self, heard: Heard) -> None:
        """What Lucius answered to the ACK."""
        self._pulse.hear(heard)

    def lose(self, why: str) -> None:
        """The attempt is somebody else's: stop, and say nothing."""
        self._lost = self._lost or why
        self._cancel.request(LOST)
        self._end()

    def stop(self) -> None:
        """The process ends: stop, and say so."""
        self._stopped = True
        self._cancel.request("The service is being stopped.")
        self._end()

    async def run(self) -> ResultMessage | None:
        """Do it; None if the attempt was lost."""
        if self.is_lost():
            self._gave_up()
            return None
        loop = asyncio.get_running_loop()
        began = loop.time()
        pulse = asyncio.create_task(self._pulse.run())
        try:
            result = await self._outcome()
        finally:
            pulse.cancel()
            with suppress(asyncio.CancelledError):
                await pulse
            self._meter.worked(loop.time() - began)
        if self.is_lost():
            self._gave_up()
            return None
        code = result.error.code if result.error else ""
        self._meter.result(result.status, code)
        self._log.info("attempt ended", status=result.status, **({"code": code} if code else {}))
        return result

    async def _outcome(self) -> ResultMessage:
        directive, clock = self.directive, self._lease.clock
        try:
            self._cancel.check()  # cancelled before it began
            self._task = asyncio.create_task(self._execute())
            return sound(succeeded(directive, clock(), await self._task))
        except StepFailure as failure:
            stopped = self._stopped and isinstance(failure, Cancelled)
            return failed(directive, clock(), STOPPED if stopped else failure)
        except asyncio.CancelledError as error:
            whole = asyncio.current_task()
            if whole is not None and whole.cancelling():
                raise  # not the work alone: whoever runs us is being cancelled
            if not self._cancel.requested:
                return self._bug(error)  # it awaited something of its own that was cancelled
            return failed(directive, clock(), STOPPED if self._stopped else Cancelled(self._cancel.reason))
        except Exception as error:  # noqa: BLE001 - whatever a service raises, its attempt must end
            return self._bug(error)

    def _bug(self, error: BaseException) -> ResultMessage:
        self._log.error("execute() raised what it should not", exc_info=error)
        told = redact_text(described(error.__cause__ if isinstance(error, EndedError) else error))
        return failed(self.directive, self._lease.clock(), Retryable("SERVICE_ERROR", told))

    async def _execute(self) -> Output:
        with Scratch(self._scratch_root) as scratch, self._processes.hand() as hand:
            limit = asyncio.timeout(self._service.time_limit)
            try:
                async with limit:
                    return output_of(await self._service.execute(self._step(scratch, hand, limit)))
            except TimeoutError:
                if not limit.expired():  # one of the service's own
                    raise
                message = f"The work took longer than {self._service.time_limit} s."
                raise Retryable("TIME_LIMIT", message) from None
            except (Exception, asyncio.CancelledError, GeneratorExit):
                raise
            except BaseException as error:
                # sys.exit() in some library: an event loop would end the process, and all other work with it.
                raise EndedError from error

    def _step(self, scratch: Scratch, hand: Hand, limit: asyncio.Timeout) -> Step[Any]:
        directive, stores = self.directive, self._stores
        loop = asyncio.get_running_loop()

        def remaining() -> float:
            ends = limit.when()
            left = float("inf") if ends is None else ends - loop.time()
            return min(self._lease.remaining(), left)

        return Step(
            directive=directive,
            payload=self._service.read_payload(directive.payload),
            document=stores.source(directive.input_ref),
            inputs={step_id: stores.source(ref) for step_id, ref in directive.inputs.items()},
            workspace=stores.workspace(
                str(directive.workspace_ref.get("uri", "")),
                step_type=directive.step_type,
                attempt_no=directive.attempt_no,
            ),
            scratch=scratch.path,
            cancel=self._cancel,
            log=self._log,
            remaining=remaining,
            on_progress=self._pulse.progress,
            offload=hand,
        )

    def _end(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _gave_up(self) -> None:
        self._meter.result("LOST", self._lost or "")
        self._log.warning("attempt lost, its work is thrown away", verdict=self._lost)


def _expiry(directive: DirectiveMessage) -> int | None:
    return parse_iso(directive.lease_expires_at) if directive.lease_expires_at else None
