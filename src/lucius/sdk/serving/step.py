"""What `execute` gets: one attempt at one step, with everything it may touch.

A step lives as long as its attempt. `progress` may be called from any thread; files below `scratch` are
gone afterwards; what is to stay goes through `workspace`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from lucius.sdk.serving.cancel import CancelToken
from lucius.sdk.serving.outcomes import Final
from lucius.wire.messages import DirectiveMessage

if TYPE_CHECKING:
    from typing import Protocol

    from structlog.typing import FilteringBoundLogger

    from lucius.sdk.workspaces import Source, Workspace

    class Offload(Protocol):
        """Runs a function of a module in another process."""

        async def __call__(self, function: Callable[..., Any], /, *arguments: Any) -> Any:
            """What the function returned; `Retryable` WORKER_DIED if its process ended."""
            ...


P = TypeVar("P")
T = TypeVar("T")


class Inputs(dict[str, "Source"]):
    """What earlier steps put out, by step id. One that is not there fails the job, and says what is."""

    def __missing__(self, step_id: str) -> Source:
        there = ", ".join(sorted(self)) or "none"
        message = f"The step needs the output of {step_id!r}, and the protocol hands it: {there}."
        raise Final("INPUT_MISSING", message)


class Step(Generic[P]):
    """One attempt. Made by the runner, or by `sdk.trial` in a test."""

    def __init__(
        self,
        *,
        directive: DirectiveMessage,
        payload: P,
        document: Source,
        inputs: Mapping[str, Source],
        workspace: Workspace,
        scratch: Callable[[], Path],
        cancel: CancelToken,
        log: FilteringBoundLogger,
        remaining: Callable[[], float],
        on_progress: Callable[[float, str], None],
        offload: Offload,
    ) -> None:
        self.directive = directive
        self.payload = payload
        """The step's section of the command, as the service's model."""
        self.document = document
        """The job's input."""
        self.inputs = Inputs(inputs)
        """What earlier steps put out, by step id."""
        self.workspace = workspace
        """Where this attempt, and no other, writes."""
        self._scratch = scratch
        self.cancel = cancel
        self.log = log
        self.remaining = remaining
        """Seconds until the deadline: the lease's end (heartbeats move it) or the service's time limit."""
        self._on_progress = on_progress
        self._offload = offload

    @property
    def scratch(self) -> Path:
        """A local directory for temporary files, made when it is first asked for."""
        return self._scratch()

    @property
    def tenant_id(self) -> str:
        """Whose document this is."""
        return self.directive.tenant_id

    @property
    def attempt_no(self) -> int:
        """1 for the first attempt."""
        return self.directive.attempt_no

    def progress(self, fraction: float, message: str = "") -> None:
        """Say how far the work is (0 to 1). Raises `Cancelled` if the job was cancelled."""
        self.cancel.check()
        self._on_progress(min(max(fraction, 0.0), 1.0), message)

    async def in_process(self, function: Callable[..., T], /, *arguments: Any) -> T:
        """Run a function that computes for long in a process of its own, so that heartbeats go on.

        The function must be one of a module, its arguments and its result picklable. The process is ended
        when the attempt is lost; a process that dies fails the attempt as `WORKER_DIED`, retryable.
        """
        done: T = await self._offload(function, *arguments)
        return done

    async def in_thread(self, function: Callable[..., T], /, *arguments: Any) -> T:
        """Run a blocking function in a thread: for waiting, or for libraries that let other threads run."""
        return await asyncio.to_thread(function, *arguments)
