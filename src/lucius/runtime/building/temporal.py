"""The client of Temporal that every process of the temporal engine has. It connects when first used."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from lucius.engines.temporal.connection import Whereabouts, connect
from lucius.engines.temporal.starting import WorkflowStarts
from lucius.runtime.temporal_access import temporal_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from temporalio.client import Client, Interceptor

    from lucius.runtime.settings import Settings


async def open_client(settings: Settings, address: str, *, lazy: bool = True) -> Client:
    """A client of the server at `address`. A lazy one needs no server yet, and cannot have a worker."""
    where = Whereabouts(address=address, namespace=settings.temporal_namespace, **temporal_access(settings))
    return await connect(where, interceptors=interceptors(settings), lazy=lazy)


def interceptors(settings: Settings) -> Sequence[Interceptor]:  # noqa: ARG001
    """What sees every call to Temporal, in all processes, and every workflow in the worker."""
    return ()


def workflow_starts(settings: Settings, client: Client) -> WorkflowStarts:
    """The right to start workflows: the orchestrator's."""
    seconds = settings.temporal_workflow_execution_timeout
    return WorkflowStarts(
        client,
        task_queue=settings.temporal_task_queue,
        execution_timeout=None if seconds is None else timedelta(seconds=seconds),
        search_attributes=settings.temporal_search_attributes,
    )
