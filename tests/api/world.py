"""A whole Lucius in memory behind its real API, and callers of every kind."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2

from lucius.core.events import kind
from lucius.entrypoints.api.app import LuciusApi
from lucius.runtime import nature
from lucius.runtime.bootstrap import Lucius
from lucius.runtime.lifecycle import running
from lucius.runtime.settings import Settings
from lucius.security.keys import Grant, mint
from lucius.security.principal import Role
from lucius.testing.hostile import valid

BASE = "http://127.0.0.1:8700"
NO_SUCH = "01999999-0000-7000-8000-000000000000"


class World:
    """One Lucius and its callers. Without a key everybody is let in; the first key ends that."""

    def __init__(self, lucius: Lucius, client: httpx2.AsyncClient) -> None:
        self.lucius = lucius
        self.client = client

    @property
    def api(self) -> LuciusApi:
        """The application inside its telemetry."""
        inner = self.lucius.app._app  # type: ignore[attr-defined]
        assert isinstance(inner, LuciusApi)
        return inner

    def key(self, *roles: Role, tenants: set[str] | None = None, step_types: set[str] | None = None) -> dict:
        """The headers of a new key."""
        grant = Grant(
            name="test",
            tenants=None if tenants is None else frozenset(tenants),
            roles=frozenset(roles),
            step_types=None if step_types is None else frozenset(step_types),
        )
        minted = mint(grant, now=nature.now_ms(), token_bytes=nature.token_bytes)
        self.lucius.keyring.add(minted.key)
        return {"x-api-key": minted.text}

    async def post(self, path: str, body: Any = None, headers: dict | None = None) -> httpx2.Response:
        """POST JSON, or nothing."""
        if body is None:
            return await self.client.post(path, headers=headers)
        return await self.client.post(path, json=body, headers=headers)

    async def get(self, path: str, headers: dict | None = None, **params: Any) -> httpx2.Response:
        """GET with query parameters."""
        return await self.client.get(path, headers=headers, params=params)

    async def submit(self, headers: dict | None = None, **changes: Any) -> str:
        """The id of a new job of one step."""
        answer = await self.post("/v1/orchestrate", valid(**changes), headers)
        assert answer.status_code == 202, answer.text
        return str(answer.json()["jobId"])

    async def take(self, *step_types: str, headers: dict | None = None, **more: Any) -> list[dict]:
        """Directives, waiting for the first one."""
        asked = {"step_types": list(step_types), "wait_seconds": 10} | more
        answer = await self.post("/v1/directives:receive", asked, headers)
        assert answer.status_code == 200, answer.text
        return list(answer.json()["directives"])

    async def say(self, kind: str, directive: dict, **more: Any) -> httpx2.Response:
        """A reply to a directive, with its own token unless another is given."""
        token = more.pop("token", directive["callback_token"])
        body = reply_to(directive, **more)
        return await self.client.post(
            f"/v1/callbacks/{kind}", json=body, headers={"authorization": f"Bearer {token}"}
        )

    async def sent(self, job_id: str) -> None:
        """Wait until the ledger knows that the bus has the job's directive."""
        query = self.api.state.services.query
        job = await self.lucius.ledger.job(job_id)
        async for page in query.follow(job, after=0, beat=60):
            if any(kind(event) == "directive.published" for event in page):
                return

    async def fail(self, headers: dict | None = None, **changes: Any) -> str:
        """The id of a job that has failed for good."""
        job_id = await self.submit(headers, **changes)
        (lent,) = [one for one in await self.take("OCR", max=100) if one["directive"]["jobId"] == job_id]
        error = {"code": "UNREADABLE", "message": "password=hunter2 is no PDF"}
        await self.say("result", lent["directive"], status="FAILED_FINAL", error=error)
        return job_id


def reply_to(directive: dict, **more: Any) -> dict:
    """What every reply to a directive says."""
    names = ("jobId", "stepId", "tenant_id", "attempt_no", "lease_id")
    return {name: directive[name] for name in names} | {"timestamp": "2026-01-27T10:02:00Z"} | more


def problem(answer: httpx2.Response, status: int, code: str) -> dict:
    """The problem document in an answer that must be one."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    document = dict(answer.json())
    assert document["code"] == code, document
    assert document["status"] == status
    assert document["title"]
    assert document["type"].startswith("urn:lucius:problem:")
    return document


@asynccontextmanager
async def world(config: Path | None = None, **settings: Any) -> AsyncIterator[World]:
    """A running Lucius with nobody serving it."""
    settings = {"lifebook_concurrency": 0} | settings
    chosen = Settings(in_memory=True, config=config, drain_seconds=0.2, **settings)
    async with running(chosen) as lucius:
        transport = httpx2.ASGITransport(app=lucius.app)
        async with httpx2.AsyncClient(transport=transport, base_url=BASE) as client:
            yield World(lucius, client)


def configured(folder: Path, **limits: int) -> Path:
    """A configuration directory with these limits."""
    lines = "".join(f"  {name}: {json.dumps(value)}\n" for name, value in limits.items())
    (folder / "lucius.yaml").write_text(f"burst_allowed: true\nlimits:\n{lines}", encoding="utf-8")
    return folder
