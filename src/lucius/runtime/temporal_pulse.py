"""Whether Temporal answers: asked from time to time, told by `/readyz` and once in the log.

A process goes on without Temporal: jobs are accepted and started later, commands are committed and told
later. So the answer is for people, not for load balancers.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from lucius.ports.duties import Report

if TYPE_CHECKING:
    from temporalio.client import Client

    from lucius.runtime.state import State

AWAY = "Temporal does not answer; what it must be told is told later"
_ASK = timedelta(seconds=2)
_PATIENCE = 2
"""Questions without answer before it is said: a server that starts beside us needs a moment."""


class TemporalPulse:
    """A duty of every process that talks to Temporal."""

    name = "temporal-pulse"
    interval = 2.0

    def __init__(self, client: Client, state: State, address: str) -> None:
        self._client = client
        self._state = state
        self._address = address
        self._silent = 0
        state.missed["temporal"] = AWAY

    async def run_once(self) -> Report:
        """Ask, and note what was answered."""
        log = structlog.get_logger("lucius.temporal")
        missed = await what_is_missed(self._client)
        if missed is None:
            if self._state.missed.pop("temporal", None) is not None:
                log.info("Temporal answers", address=self._address)
            self._silent = 0
        else:
            self._state.missed["temporal"] = missed
            self._silent += 1
            if self._silent == _PATIENCE:
                log.warning("Temporal cannot be used", address=self._address, reason=missed)
        return Report(duty=self.name)


async def what_is_missed(client: Client) -> str | None:
    """What is wrong with Temporal, if anything is. Who may not ask about a namespace may yet use it."""
    from temporalio.api.workflowservice.v1 import DescribeNamespaceRequest
    from temporalio.service import RPCError, RPCStatusCode

    namespace = client.namespace
    try:
        if not await client.service_client.check_health(timeout=_ASK):
            return AWAY
        asked = DescribeNamespaceRequest(namespace=namespace)
        await client.workflow_service.describe_namespace(asked, timeout=_ASK)
    except RPCError as error:
        if error.status is RPCStatusCode.NOT_FOUND:
            return f"Temporal has no namespace {namespace}; create it, or set LUCIUS_TEMPORAL_NAMESPACE"
        return None if error.status is RPCStatusCode.PERMISSION_DENIED else AWAY
    except RuntimeError:  # no connection could be made
        return AWAY
    return None
