"""What the doctor finds at a server."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from lucius.entrypoints.cli.examination import _server


def test_a_part_that_a_ready_server_misses_is_a_finding() -> None:
    """A server that is ready without Temporal is not called well altogether."""
    said = {"process": "ok", "temporal": "missed: Temporal does not answer"}
    client = SimpleNamespace(raw=lambda _call: {"status": "ready", "components": said})
    session: Any = SimpleNamespace(client=client, url="http://lucius")
    server, temporal = _server(session)
    assert (server.name, server.state) == ("server", "ok")
    assert (temporal.name, temporal.state, temporal.detail) == (
        "temporal", "warn", "Temporal does not answer",
    )  # fmt: skip
