"""Lucius from another program: a typed HTTP client, and everything a platform service needs.

A client, blocking or asynchronous:

    from lucius import sdk

    with sdk.Client("http://127.0.0.1:8700", key=key) as lucius:
        receipt = lucius.send(sdk.commands.submit(envelope))
        job = lucius.send(sdk.jobs.get(receipt.job_id))

A call is a value (`sdk.jobs.get(…)` sends nothing); a client sends it. So every call is written once
and works with both clients. Whatever goes wrong is raised as one of `lucius.errors`, with the code
and the pointers the server gave. Calls that may be repeated without harm are repeated when the server
is away for a moment; others only when they surely never reached it. No state beyond the connections: a
client may be shared between threads (or tasks, for `AsyncClient`).

A platform service:

    @sdk.service("WORD_COUNT")
    async def count(step: sdk.Step[Wanted]) -> sdk.Artifact:
        text = await step.document.text()
        return await step.workspace.write_json("count.json", {"words": len(text.split())})

    sdk.run(count)

`lucius.sdk.serving` tells what happens round `execute`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lucius.sdk import admin, commands, jobs, lifebook
from lucius.sdk.async_client import AsyncClient
from lucius.sdk.call import Call, Patience
from lucius.sdk.client import Client

if TYPE_CHECKING:
    from lucius.sdk.serving.cancel import CancelToken
    from lucius.sdk.serving.outcomes import Artifact, Cancelled, Final, Output, Retryable
    from lucius.sdk.serving.run import run
    from lucius.sdk.serving.service import Service, service
    from lucius.sdk.serving.settings import ServiceSettings
    from lucius.sdk.serving.step import Step
    from lucius.sdk.serving.trial import Trial, trial
    from lucius.sdk.workspaces import Source, Workspace

__all__ = [
    "Artifact",
    "AsyncClient",
    "Call",
    "CancelToken",
    "Cancelled",
    "Client",
    "Final",
    "Output",
    "Patience",
    "Retryable",
    "Service",
    "ServiceSettings",
    "Source",
    "Step",
    "Trial",
    "Workspace",
    "admin",
    "commands",
    "jobs",
    "lifebook",
    "run",
    "service",
    "trial",
]

_SERVING = {
    "Artifact": "outcomes", "CancelToken": "cancel", "Cancelled": "outcomes", "Final": "outcomes",
    "Output": "outcomes", "Retryable": "outcomes", "Service": "service", "ServiceSettings": "settings",
    "Step": "step", "Trial": "trial", "run": "run", "service": "service", "trial": "trial",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load the service side when it is first asked for: a client does not pay for it."""
    import importlib  # noqa: PLC0415 - as above

    if name in {"Source", "Workspace"}:
        return getattr(importlib.import_module("lucius.sdk.workspaces"), name)
    if name not in _SERVING:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"lucius.sdk.serving.{_SERVING[name]}"), name)
