"""The invoker behind its internal HTTP API.

State: connections (see `replicas`). How it fails: as the invoker itself would, and with `Unavailable`
(INVOKER_UNAVAILABLE) when none answers, or `Forbidden` (INVOKER_TOKEN_REFUSED) when our token does not fit.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar
from urllib.parse import quote

import msgspec

from lucius.adapters.invokers.replicas import Replicas
from lucius.adapters.invokers.saying import control_body, reply_body
from lucius.core.admission import Limits
from lucius.core.commands import Command, Reply
from lucius.ports.engine import Answer
from lucius.ports.invoker import Advance, Advanced, Attempted
from lucius.wire.internal import (
    MOST_JOBS,
    AdvanceBody,
    AttemptBody,
    Done,
    InternalBody,
    PublishBody,
    RepublishBody,
    Republished,
)

T = TypeVar("T")


class HttpInvoker:
    """Asks the invoker at `urls`, or one of several separated by commas. Times are seconds."""

    def __init__(self, urls: str, token: str, *, timeout: float = 7.0, connect_timeout: float = 2.0) -> None:
        self._replicas = Replicas(urls, token, timeout=timeout, connect_timeout=connect_timeout)

    async def advance(self, ask: Advance) -> Advanced:
        """Go on with a job; safe to repeat."""
        body = AdvanceBody(
            job_id=ask.job_id,
            tenant_id=ask.tenant_id,
            known=ask.known,
            lease_id=ask.lease_id,
            spread=ask.spread,
        )
        return await self._post("steps/advance", body, Advanced)

    async def attempt(self, minted: Attempted) -> Advanced:
        """Record an attempt, publish nothing."""
        body = AttemptBody(
            job_id=minted.job_id,
            step_id=minted.step_id,
            tenant_id=minted.tenant_id,
            attempt_no=minted.attempt_no,
            lease_id=minted.lease_id,
        )
        return await self._post("steps/attempt", body, Advanced)

    async def publish(self, lane: int, directive: bytes) -> None:
        """Publish the directive of a recorded attempt, byte for byte."""
        await self._post("publish", PublishBody(lane=lane, directive=msgspec.Raw(directive)), Done)

    def report(self, tenant_id: str, job_id: str, reply: Reply) -> Awaitable[Answer]:
        """Hand over what a service says."""
        return self._post("replies", reply_body(tenant_id, job_id, reply), Answer)

    def control(self, job_id: str, command: Command, limits: Limits) -> Awaitable[Answer]:
        """Hand over what people ask of a job."""
        path = f"jobs/{quote(job_id, safe='')}/control"
        return self._post(path, control_body(command, limits), Answer)

    async def republish(self, job_ids: list[str]) -> int:
        """Have the open directives of these jobs sent again; how many were offered."""
        offered = 0
        for start in range(0, max(1, len(job_ids)), MOST_JOBS):
            some = RepublishBody(job_ids=job_ids[start : start + MOST_JOBS])
            offered += (await self._post("jobs/republish", some, Republished)).count
        return offered

    async def close(self) -> None:
        """Let go of the connections."""
        await self._replicas.close()

    async def _post(self, path: str, body: InternalBody, shape: type[T]) -> T:
        return await self._replicas.ask(f"/v1/internal/{path}", msgspec.json.encode(body), shape)
