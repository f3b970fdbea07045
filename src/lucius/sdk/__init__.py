"""Lucius from another program: a typed HTTP client, blocking or asynchronous.

    from lucius import sdk

    with sdk.Client("http://127.0.0.1:8700", key=key) as lucius:
        receipt = lucius.send(sdk.commands.submit(envelope))
        job = lucius.send(sdk.jobs.get(receipt.job_id))

A call is a value (`sdk.jobs.get(…)` sends nothing); a client sends it. So every call is written once
and works with both clients. Whatever goes wrong is raised as one of `lucius.errors`, with the code
and the pointers the server gave. Calls that may be repeated without harm are repeated when the server
is away for a moment; others only when they surely never reached it.

No state beyond the connections: a client may be shared between threads (or tasks, for `AsyncClient`).
"""

from __future__ import annotations

from lucius.sdk import admin, commands, jobs
from lucius.sdk.async_client import AsyncClient
from lucius.sdk.call import Call, Patience
from lucius.sdk.client import Client

__all__ = ["AsyncClient", "Call", "Client", "Patience", "admin", "commands", "jobs"]
