from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from lucius.runtime.lifecycle import running as lucius_running
from lucius.runtime.settings import Settings
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.meter import Meter
from lucius.sdk.serving.run import build
from lucius.sdk.serving.settings import ServiceSettings
from lucius.sdk.serving.spans import Spans
from lucius.sdk.transports.bus import BusTransport
from lucius.testing.processes import free_port
from tests.serving.counting import count

PROTOCOL = """
request_type: WORD_COUNT
version: 1
steps:
  - {step_id: count, step_type: WORD_COUNT, service: counting}
"""


def command(tmp_path: Path) -> dict[str, Any]:
    """A job for the service."""
    return {
        "tenant_id": "acme", "request_type": "WORD_COUNT", "schema_version": "1", "payload": {},
        "input_ref": {"uri": (tmp_path / "document.txt").as_uri()},
        "output_ref": {"uri": (tmp_path / "out").as_uri()},
    }  # fmt: skip


async def test_a_service_works_over_the_bus_without_http(tmp_path: Path) -> None:
    """The same service, runner and store over the bus port: the real engine judges its replies."""
    import httpx2

    (tmp_path / "config" / "protocols").mkdir(parents=True)
    (tmp_path / "config" / "protocols" / "count.yaml").write_text(PROTOCOL)
    (tmp_path / "document.txt").write_text("one two three four")
    settings = Settings(
        data=tmp_path / "data", config=tmp_path / "config", files_root=tmp_path, port=free_port()
    )
    async with lucius_running(settings) as lucius:
        attempts = SqliteAttempts(tmp_path / "attempts.db")
        transport = BusTransport(lucius.bus)
        runner = build(
            count,
            ServiceSettings(),
            transport=transport,
            attempts=attempts,
            spans=Spans(),
            meter=Meter(count.step_type),
        )
        serving = asyncio.create_task(runner.run())
        here = httpx2.ASGITransport(app=lucius.app)
        async with httpx2.AsyncClient(transport=here, base_url="http://127.0.0.1") as http:
            accepted = await http.post("/v1/orchestrate", json=command(tmp_path))
            assert accepted.status_code == 202, accepted.text
            job_id = accepted.json()["jobId"]
            async with asyncio.timeout(60):
                while (job := (await http.get(f"/v1/jobs/{job_id}")).json())["state"] != "SUCCEEDED":
                    await asyncio.sleep(0.01)
        runner.stop()
        await serving
        await attempts.close()
    assert job["final_output"]["uri"].endswith("/WORD_COUNT/1/count.json")
    assert job["final_output"]["size"] == len('{"words":4}')
