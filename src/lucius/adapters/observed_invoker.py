"""Telemetry round the invoker port, on either side of the wire: who asks, and who is asked.

Nothing is added to or kept from a call: the answer, and every error, is the inner one's. What the inner one
judges when it is called, not when its answer is awaited, it still judges then.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

from lucius.errors import LuciusError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from lucius.core.admission import Limits
    from lucius.core.commands import Command, Reply
    from lucius.ports.engine import Answer
    from lucius.ports.invoker import Advance, Advanced, Attempted, Invoker

    Observe = Callable[[str, str, float], None]

T = TypeVar("T")


class ObservedInvoker:
    """Any invoker, with `observe(call, outcome, seconds)` told after each call."""

    def __init__(self, inner: Invoker, observe: Observe) -> None:
        self._inner = inner
        self._observe = observe

    async def advance(self, ask: Advance) -> Advanced:
        """As the inner invoker."""
        return await self._counted("advance", self._inner.advance(ask))

    async def attempt(self, minted: Attempted) -> Advanced:
        """As the inner invoker."""
        return await self._counted("attempt", self._inner.attempt(minted))

    async def publish(self, lane: int, directive: bytes) -> None:
        """As the inner invoker."""
        await self._counted("publish", self._inner.publish(lane, directive))

    def report(self, tenant_id: str, job_id: str, reply: Reply) -> Awaitable[Answer]:
        """As the inner invoker: judged now."""
        return self._counted("report", self._inner.report(tenant_id, job_id, reply))

    def control(self, job_id: str, command: Command, limits: Limits) -> Awaitable[Answer]:
        """As the inner invoker: judged now."""
        return self._counted("control", self._inner.control(job_id, command, limits))

    async def republish(self, job_ids: list[str]) -> int:
        """As the inner invoker."""
        return await self._counted("republish", self._inner.republish(job_ids))

    async def _counted(self, call: str, answering: Awaitable[T]) -> T:
        began, outcome = perf_counter(), "failed"
        try:
            answer = await answering
            outcome = "ok"
        except LuciusError as error:
            outcome = "unavailable" if error.retryable else "refused"
            raise
        finally:
            self._observe(call, outcome, perf_counter() - began)
        return answer
