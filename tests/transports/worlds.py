"""Where a transport is tried: something that offers directives and hears replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any, Protocol

import msgspec

from lucius.adapters.buses.embedded import EmbeddedBus
from lucius.core.routing import reply_topics, topics
from lucius.ports.bus import Message, Subscription
from lucius.sdk.serving import replies
from lucius.sdk.serving.outcomes import Artifact, Output
from lucius.sdk.serving.ports import Lent, Transport
from lucius.sdk.transports import BusTransport, HttpTransport
from lucius.testing.processes import Server
from lucius.wire.messages import DirectiveMessage, ResultMessage, decode_directive, decode_reply, encode

PATIENCE = 20.0
"""Seconds a receiver waits in tests that end by a directive, never by this."""
NOW = 1_900_000_000_000
_NUMBERS = count(1)


def sample_directive(job_id: str = "job-1", step_type: str = "OCR", **more: Any) -> DirectiveMessage:
    """A directive nobody sent."""
    usual = DirectiveMessage(
        job_id=job_id, step_id=step_type.lower(), tenant_id="acme", attempt_no=1, lease_id=f"lease-{job_id}",
        protocol_id="p", step_type=step_type, input_ref={"uri": "s3://in/a"},
        workspace_ref={"uri": "s3://ws"}, output_ref={"uri": "s3://out"}, payload={}, mode="DEFAULT", lane=4,
        routing_key_used="acme", correlation_id=None, traceparent=None,
    )  # fmt: skip
    return msgspec.structs.replace(usual, **more)


def done(directive: DirectiveMessage) -> ResultMessage:
    """A RESULT with one file."""
    uri = f"s3://ws/{directive.step_type}/{directive.attempt_no}/output.txt"
    text = Artifact(name="output.txt", uri=uri, content_type="text/plain", size=2, sha256="ab")
    return replies.succeeded(directive, NOW, Output(output=text, artifacts=(text,)))


def directive_of(lent: Lent) -> DirectiveMessage:
    """What was lent."""
    return decode_directive(lent.body)


def http_transport(url: str, key: str | None = None, **more: Any) -> HttpTransport:
    """A transport with real time, but no chance in it."""
    usual: dict[str, Any] = {"clock": now_ms, "sleep": asyncio.sleep, "chance": lambda: 0.5}
    return HttpTransport(url, key=key, **usual | more)


def now_ms() -> int:
    """Milliseconds on a clock that only goes forward."""
    return int(asyncio.get_running_loop().time() * 1000)


class World(Protocol):
    """A Lucius, or what stands for one."""

    transport: Transport

    async def offer(self, step_type: str = "OCR") -> str:
        """Make one directive available; its job."""
        ...

    async def state(self, job_id: str) -> str:
        """What the other side has heard of the job's step, such as IN_PROGRESS or SUCCEEDED."""
        ...

    async def progress(self, job_id: str) -> float | None:
        """The progress the other side has heard of."""
        ...


class HttpWorld:
    """A running Lucius."""

    def __init__(self, server: Server) -> None:
        self.transport: Transport = http_transport(f"http://127.0.0.1:{server.port}")
        self._server = server
        self._jobs: list[str] = []

    async def offer(self, step_type: str = "OCR") -> str:
        """Submit a job whose first step is of that type."""
        self._jobs.append(submit(self._server, step_type))
        return self._jobs[-1]

    async def state(self, job_id: str) -> str:
        """As the job tells it."""
        return str(self._step(job_id)["state"])

    async def progress(self, job_id: str) -> float | None:
        """As the job tells it."""
        found: float | None = self._step(job_id)["progress"]
        return found

    async def leave(self) -> None:
        """End what is open, so that the next test finds nothing waiting."""
        await self.transport.close()
        for job_id in self._jobs:
            self.cancel(job_id)

    def cancel(self, job_id: str) -> None:
        """Ask for a job to be cancelled; one that is over stays as it is."""
        with self._server.calling() as caller:
            caller.post(f"/v1/jobs/{job_id}:cancel", {})

    def _step(self, job_id: str) -> dict[str, Any]:
        with self._server.calling() as caller:
            status, job = caller.get(f"/v1/jobs/{job_id}")
        assert status == 200, job
        step: dict[str, Any] = job["steps"][0]
        return step


class BusWorld:
    """A bus, with somebody who publishes directives and reads replies."""

    def __init__(self) -> None:
        self.bus = EmbeddedBus(topics=[*topics(), *reply_topics()], clock=now_ms)
        self.transport: Transport = BusTransport(self.bus)
        self._ids = count(1)
        self._subscription = Subscription(name="lucius", topics=reply_topics())
        self.replies: list[Message] = []

    async def offer(self, step_type: str = "OCR") -> str:
        """Publish a directive on the topic of its lane."""
        directive = sample_directive(f"job-{next(self._ids)}", step_type)
        message = Message(
            message_id=directive.job_id,
            topic=topics()[directive.lane],
            subject=step_type,
            tenant_id="acme",
            body=encode(directive),
        )
        await self.bus.publish([message])
        return directive.job_id

    async def state(self, job_id: str) -> str:
        """What Lucius would make of the replies."""
        said = [decode_reply(message.body) for message in await self.read(job_id)]
        results = [reply.status for reply in said if isinstance(reply, ResultMessage)]
        return results[0] if results else "IN_PROGRESS" if said else "DISPATCHED"

    async def progress(self, job_id: str) -> float | None:
        """Of the last reply that had one."""
        said = [getattr(decode_reply(message.body), "progress", None) for message in await self.read(job_id)]
        return next((one for one in reversed(said) if one is not None), None)

    async def read(self, job_id: str) -> list[Message]:
        """The replies about a job, in the order they came."""
        lent = await self.bus.receive(self._subscription, limit=100, wait=0)
        self.replies += [each.message for each in lent]
        return [message for message in self.replies if decode_reply(message.body).job_id == job_id]


def submit(server: Server, kind: str = "OCR") -> str:
    """Send a command unlike any before it; the job it became."""
    command = {
        "tenant_id": "acme",
        "request_type": kind,
        "input_ref": {"uri": f"s3://in/{next(_NUMBERS)}.pdf"},
        "output_ref": {"uri": "s3://out/"},
        "payload": {},
        "schema_version": "1",
    }
    with server.calling() as caller:
        status, answer = caller.post("/v1/orchestrate", command)
    assert status == 202, answer
    return str(answer["jobId"])


def requests_to(server: Server) -> Callable[[str], int]:
    """Counts requests to a path from here on, as the server itself counts them."""
    before = _counted(server)
    return lambda path: _counted(server).get(path, 0) - before.get(path, 0)


def _counted(server: Server) -> dict[str, int]:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    connection.request("GET", "/metrics")
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    found: dict[str, int] = {}
    for line in lines:
        if line.startswith("lucius_http_requests_total{"):
            path = line.split('route="')[1].split('"')[0]
            found[path] = found.get(path, 0) + int(float(line.rsplit(" ", 1)[1]))
    return found
