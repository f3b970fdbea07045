from __future__ import annotations

from typing import Any

import pytest

from lucius.core.commands import Heartbeat, Result
from lucius.core.job import Fault
from lucius.wire.messages import decode_reply
from lucius.wire.replies import command_of

REPLY: dict[str, Any] = {
    "jobId": "job_123",
    "stepId": "step_01",
    "tenant_id": "tenant_a",
    "attempt_no": 1,
    "lease_id": "9a7c",
    "timestamp": "2026-01-27T10:02:00Z",
}


@pytest.mark.parametrize(
    ("error", "kept"),
    [
        (None, None),
        ({"code": "OOM"}, Fault(code="OOM")),
        ({"code": "c" * 100, "message": "m" * 2_000}, Fault(code="c" * 100, message="m" * 2_000)),
        ({"code": "c" * 101, "message": "short"}, Fault(code="c" * 100, message="short")),
        ({"code": "OOM", "message": "m" * 200_000}, Fault(code="OOM", message="m" * 2_000)),
    ],
)
def test_a_long_reason_is_cut_and_the_result_counts(error: Any, kept: Fault | None) -> None:
    """Too many words cost the words, never the result."""
    reply = decode_reply(REPLY | {"type": "RESULT", "status": "FAILED_FINAL", "error": error})
    command = command_of(reply)
    assert isinstance(command, Result)
    assert (command.result.status, command.result.error) == ("FAILED_FINAL", kept)


@pytest.mark.parametrize(("said", "kept"), [(None, None), ("page 3", "page 3"), ("p" * 501, "p" * 500)])
def test_a_long_heartbeat_is_cut(said: str | None, kept: str | None) -> None:
    """A sign of life counts, however long it talks."""
    command = command_of(decode_reply(REPLY | {"type": "HEARTBEAT", "progress": 0.5, "message": said}))
    assert isinstance(command, Heartbeat)
    assert (command.progress, command.message) == (0.5, kept)
