"""The front process of the bare workflow: takes jobs, takes directives, and is the echo that answers them.

`python -m bench.bare_temporal_front PORT ADDRESS TASK_QUEUE` (ADDRESS: of the Temporal server).
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import uuid
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
import uvloop
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from temporalio.client import Client

from bench.bare_temporal import STEPS, Ack, BareJob, Order, Result

SENDERS = 200
"""Answers under way at a time."""


def front(client: Client, task_queue: str) -> FastAPI:
    """The door and the echo behind it."""
    directives: asyncio.Queue[dict[str, str]] = asyncio.Queue()

    async def answer() -> None:
        """The work of a service that does nothing."""
        while True:
            directive = await directives.get()
            handle = client.get_workflow_handle(directive["job_id"])
            step = directive["step_id"]
            await handle.signal(BareJob.step_ack, Ack(step_id=step))
            output = f"{directive['input_uri']}/{step}.json"
            await handle.signal(
                BareJob.step_result, Result(step_id=step, status="SUCCEEDED", output_uri=output)
            )

    @contextlib.asynccontextmanager
    async def at_work(_: FastAPI) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            echoes = [group.create_task(answer()) for _ in range(SENDERS)]
            yield
            for echo in echoes:
                echo.cancel()

    app = FastAPI(lifespan=at_work)

    @app.post("/v1/orchestrate")
    async def orchestrate(request: Request) -> JSONResponse:
        given: dict[str, Any] = await request.json()
        job_id = uuid.uuid4().hex
        order = Order(
            job_id=job_id,
            tenant_id=given["tenant_id"],
            request_type=given["request_type"],
            input_uri=given["input_ref"]["uri"],
            output_uri=given["output_ref"]["uri"],
            steps=list(STEPS),
        )
        await client.start_workflow(BareJob.run, order, id=job_id, task_queue=task_queue)
        return JSONResponse({"jobId": job_id, "status": "QUEUED"}, 202)

    @app.post("/publish")
    async def publish(request: Request) -> JSONResponse:
        directives.put_nowait(await request.json())
        return JSONResponse({"status": "published"})

    @app.get("/readyz")
    async def readyz() -> dict[str, str]:
        return {"status": "ok"}

    return app


async def serve(port: int, address: str, task_queue: str) -> None:
    """On the same uvicorn settings as Lucius."""
    config = uvicorn.Config(
        front(await Client.connect(address), task_queue), host="127.0.0.1", port=port, http="httptools",
        loop="none", lifespan="on", log_config=None, access_log=False, server_header=False,
        date_header=False, backlog=4096,
    )  # fmt: skip
    await uvicorn.Server(config).serve()


def main() -> None:
    """Serve until told to stop."""
    uvloop.run(serve(int(sys.argv[1]), sys.argv[2], sys.argv[3]))


if __name__ == "__main__":
    main()
