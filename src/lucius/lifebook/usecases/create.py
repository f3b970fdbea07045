"""Create a run: the record first, with its key and its credits in one write; then its message.

A crash in between leaves a `pending` record that the sweeper finds. A repeated creation answers with the
run that is there; the same key for another request is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import structlog

from lucius.errors import Invalid, Problem, Unavailable
from lucius.lifebook.core.commands import Sent
from lucius.lifebook.core.decide import due_at
from lucius.lifebook.core.keys import KeySpace, fingerprint, unique_id
from lucius.lifebook.core.policy import Policy
from lucius.lifebook.core.run import Run, envelope_of
from lucius.lifebook.core.states import Status, TriggerType
from lucius.lifebook.ports.queue import RunQueue
from lucius.lifebook.ports.store import Created, RunStore
from lucius.lifebook.usecases.change import Changes
from lucius.lifebook.workflows import Registry

MAX_INPUT_BYTES = 32_768
_log = structlog.get_logger("lucius.lifebook")


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked for."""

    workspace_id: str
    user_id: str
    workflow_id: str
    trigger_type: TriggerType = TriggerType.MANUAL
    input: dict[str, Any] = {}
    key: str | None = None
    """None: every request is a run of its own."""
    space: KeySpace = KeySpace.CLIENT
    trace_id: str | None = None
    retry_of: str | None = None


class Create:
    """Creates runs."""

    def __init__(
        self,
        store: RunStore,
        queue: RunQueue,
        changes: Changes,
        registry: Registry,
        *,
        policy: Policy,
        clock: Callable[[], int],
        new_id: Callable[[], str],
        opening: int,
    ) -> None:
        """`new_id` makes random UUIDs (version 4); `opening`: credits of a workspace's first wallet."""
        self._store = store
        self._queue = queue
        self._changes = changes
        self._registry = registry
        self._policy = policy
        self._clock = clock
        self._new_id = new_id
        self._opening = opening

    async def create(self, request: RunRequest) -> Created:
        """The run of this request, made now or before; raises `Invalid`, `NotFound`, not enough credits."""
        run = self._record(request)
        created = await self._store.create(run, opening=self._opening)
        if created.fresh:
            return Created(run=await self.send(created.run), fresh=True)
        if created.run.fingerprint != run.fingerprint:
            raise Invalid(
                f"The idempotency key {run.idempotency_key[:64]!r} was used for another request, "
                f"which became the run {created.run.job_id}; use a new key",
                code="IDEMPOTENCY_KEY_REUSED",
                problems=(
                    Problem(pointer="/idempotency_key", code="IDEMPOTENCY_KEY_REUSED", message="used before"),
                ),
            )
        return created

    async def send(self, run: Run) -> Run:
        """Put the run's message into the queue and note it. If the queue is away, the sweeper does it."""
        try:
            await self._queue.send(envelope_of(run), send_no=run.sends)
            return (await self._changes.apply(run.job_id, Sent(), known=run)).run
        except Unavailable as error:
            _log.warning("message not sent yet", job_id=run.job_id, code=error.code, reason=error.message)
            return run

    def _record(self, request: RunRequest) -> Run:
        workflow = self._registry.get(request.workflow_id)
        if len(msgspec.json.encode(request.input)) > MAX_INPUT_BYTES:
            raise Invalid(
                f"The input is larger than {MAX_INPUT_BYTES} bytes; store it elsewhere and send a reference",
                code="INPUT_TOO_LARGE",
                problems=(Problem(pointer="/input", code="INPUT_TOO_LARGE", message="send a reference"),),
            )
        now, job_id = self._clock(), self._new_id()
        key = request.key if request.key is not None else job_id
        space = request.space if request.key is not None else KeySpace.OWN
        estimate = sum(step.credits for step in workflow.steps)
        run = Run(
            job_id=job_id,
            workspace_id=request.workspace_id,
            user_id=request.user_id,
            workflow_id=workflow.workflow_id,
            trigger_type=request.trigger_type,
            status=Status.PENDING,
            max_attempts=workflow.max_attempts,
            credits_estimate=estimate,
            credits_reserved=estimate,
            idempotency_key=key,
            created_at=now,
            updated_at=now,
            steps=workflow.plan,
            input=request.input,
            due_at=None,
            trace_id=request.trace_id or job_id.replace("-", ""),
            fingerprint=fingerprint(workflow.workflow_id, request.trigger_type.value, request.input),
            unique_id=unique_id(request.workspace_id, space, key),
            retry_of=request.retry_of,
        )
        return msgspec.structs.replace(run, due_at=due_at(run, now, self._policy))
