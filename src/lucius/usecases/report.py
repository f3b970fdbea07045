"""Report: what a service says over HTTP about its attempt, checked against its callback token."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.security.callback_tokens import Binding
from lucius.wire.replies import command_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from lucius.ports.engine import Answer, Engine
    from lucius.wire.messages import ReplyMessage

    Verify = Callable[[str, Binding], None]


class Report:
    """Takes replies. The token must fit the very attempt the reply names."""

    def __init__(self, engine: Engine, verify: Verify) -> None:
        self._engine = engine
        self._verify = verify

    async def report(self, reply: ReplyMessage, token: str) -> Answer:
        """Judge one reply; raises `Unauthenticated` before anything is looked up."""
        self._verify(
            token,
            Binding(
                tenant_id=reply.tenant_id,
                job_id=reply.job_id,
                step_id=reply.step_id,
                attempt_no=reply.attempt_no,
                lease_id=reply.lease_id,
            ),
        )
        return await self._engine.report(reply.tenant_id, reply.job_id, command_of(reply))
