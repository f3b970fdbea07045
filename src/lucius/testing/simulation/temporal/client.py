"""A client of the modelled server, as far as the engine's code knows one.

A request may be refused, lost, late (carried out after its sender gave up), carried out without an
answer, or carried out twice.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from temporalio.client import WorkflowExecutionStatus as Status
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode

from lucius.testing.simulation.loop import nap
from lucius.testing.simulation.temporal.instance import CONVERTER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence
    from datetime import timedelta

    from lucius.testing.simulation.temporal.execution import Execution
    from lucius.testing.simulation.temporal.schedule import World

T = TypeVar("T")
_FATES = ("lost", "late", "unanswered", "twice", "refused")


class Described(NamedTuple):
    """What a client is told of a workflow."""

    id: str
    status: Status


class Client:
    """The client of one process."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._plan = world.plan

    def get_workflow_handle(self, workflow_id: str) -> Handle:
        """A workflow by its id."""
        return Handle(self, workflow_id)

    async def start_workflow(
        self,
        name: str,
        start: Any,
        *,
        id: str,  # noqa: A002
        execution_timeout: timedelta | None,
        id_reuse_policy: WorkflowIDReusePolicy,
        **_: Any,
    ) -> Described:
        """Start it; one that runs or ran already is said to."""
        arguments = CONVERTER.to_payloads([start])
        timeout = execution_timeout.total_seconds() if execution_timeout is not None else None
        again = id_reuse_policy is not WorkflowIDReusePolicy.REJECT_DUPLICATE
        started = await self.request(lambda: self._world.server.start(id, arguments, timeout, again=again))
        if not started:
            raise WorkflowAlreadyStartedError(id, name)
        return Described(id, Status.RUNNING)

    async def list_workflows(self, query: str, *, limit: int) -> AsyncIterator[Described]:
        """What the query asks for."""
        found = await self.request(lambda: self._matching(query))
        for one in found[:limit]:
            yield Described(one.workflow_id, one.status)

    def _matching(self, query: str) -> list[Execution]:
        asked = re.search(r"(StartTime|CloseTime) ([<>]) '([^']+)'", query)
        assert asked is not None, query
        field, sign, text = asked.groups()
        moment = int(datetime.fromisoformat(text).timestamp() * 1000)
        running = 'ExecutionStatus = "Running"' in query
        found = []
        for one in self._world.server.executions.values():
            at = one.started_at if field == "StartTime" else one.closed_at
            if at is None or one.open != running or (not running and one.status is Status.COMPLETED):
                continue
            if at < moment if sign == "<" else at > moment:
                found.append(one)
        return found

    async def request(self, carry_out: Callable[[], T]) -> T:
        """One RPC."""
        plan, world = self._plan, self._world
        await nap(plan.latency())
        fate = plan.random.choice(_FATES) if plan.chance(plan.rpc_faults) else ""
        if world.server.away or fate == "refused":
            raise RPCError("away", RPCStatusCode.UNAVAILABLE, b"")
        if fate in {"lost", "late"}:
            if fate == "late":
                world.outside(world.loop.call_later, plan.random.uniform(0.1, 12.0), carry_out)
            await nap(plan.random.uniform(0.5, 5.0))
            raise RPCError("no answer", RPCStatusCode.DEADLINE_EXCEEDED, b"")
        answer = world.outside(carry_out)
        if fate == "twice":
            world.outside(world.loop.call_later, plan.random.uniform(0.0, 8.0), carry_out)
        await nap(plan.latency())
        if fate == "unanswered":
            raise RPCError("the answer was lost", RPCStatusCode.UNAVAILABLE, b"")
        return answer


class Handle:
    """One workflow in the hands of a client."""

    def __init__(self, client: Client, workflow_id: str) -> None:
        self._client = client
        self._world = client._world  # noqa: SLF001 - two halves of one thing
        self._id = workflow_id

    async def signal(self, name: str, *, args: Sequence[Any], **_: Any) -> None:
        """Signal it."""
        payloads = CONVERTER.to_payloads(args)
        self._found(await self._client.request(lambda: self._world.server.signal(self._id, name, payloads)))

    async def cancel(self, **_: Any) -> None:
        """Ask it to cancel."""
        self._found(await self._client.request(lambda: self._world.server.cancel(self._id)))

    async def describe(self, **_: Any) -> Described:
        """How it stands."""
        found = await self._client.request(lambda: self._world.server.executions.get(self._id))
        self._found(found is not None)
        assert found is not None
        return Described(self._id, found.status)

    def _found(self, found: bool) -> None:  # noqa: FBT001
        if not found:
            raise RPCError("no open workflow", RPCStatusCode.NOT_FOUND, b"")
