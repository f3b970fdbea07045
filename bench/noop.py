"""Baselines that answer and do nothing, on the same uvicorn settings as Lucius.

    typed   FastAPI, the body parsed into a pydantic model, as most services are written
    raw     FastAPI, the handler takes the Request and reads the bytes
    socket  no framework and no HTTP parser: what the load generator can reach at most

`python -m bench.noop KIND PORT`
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import uvicorn
import uvloop
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict

ANSWER = {
    "jobId": "0198a7f0-0000-7000-8000-000000000000",
    "status": "QUEUED",
    "state": "QUEUED",
    "duplicate": False,
    "links": {"self": "/v1/jobs/0198a7f0-0000-7000-8000-000000000000"},
}


class Ref(BaseModel):
    """A reference."""

    model_config = ConfigDict(extra="allow")
    uri: str


class Command(BaseModel):
    """The envelope as a FastAPI user would declare it."""

    model_config = ConfigDict(extra="forbid")
    tenant_id: str
    request_type: str
    input_ref: Ref
    output_ref: Ref
    payload: dict[str, Any]
    schema_version: str


def typed() -> FastAPI:
    """Body into a model."""
    app = FastAPI()

    @app.post("/v1/orchestrate", status_code=202)
    async def orchestrate(command: Command) -> dict[str, Any]:
        assert command.tenant_id
        return ANSWER

    _ready(app)
    return app


def raw() -> FastAPI:
    """Body as bytes."""
    app = FastAPI()

    @app.post("/v1/orchestrate")
    async def orchestrate(request: Request) -> JSONResponse:
        await request.body()
        return JSONResponse(ANSWER, 202)

    _ready(app)
    return app


def _ready(app: FastAPI) -> None:
    @app.get("/readyz")
    async def readyz() -> dict[str, str]:
        return {"status": "ok"}


class Socket(asyncio.Protocol):
    """Answers every piece that arrives; the requests of the generator arrive in one piece."""

    BODY = b'{"jobId":"0198a7f0-0000-7000-8000-000000000000","status":"QUEUED","duplicate":false}'
    HEAD = b"HTTP/1.1 %d OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Answer."""
        status = 202 if data.startswith(b"POST") else 200
        self.transport.write(self.HEAD % (status, len(self.BODY)) + self.BODY)


async def serve_socket(port: int) -> None:
    """Until told to stop."""
    server = await asyncio.get_running_loop().create_server(Socket, "127.0.0.1", port)
    await server.serve_forever()


async def serve_app(app: FastAPI, port: int) -> None:
    """As `lucius.runtime.lifecycle.serve` does."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=port, http="httptools", loop="none", lifespan="off", log_config=None,
        access_log=False, server_header=False, date_header=False, backlog=4096,
    )  # fmt: skip
    await uvicorn.Server(config).serve()


def main() -> None:
    """Serve one kind."""
    kind, port = sys.argv[1], int(sys.argv[2])
    if kind == "socket":
        uvloop.run(serve_socket(port))
    else:
        uvloop.run(serve_app({"typed": typed, "raw": raw}[kind](), port))


if __name__ == "__main__":
    main()
