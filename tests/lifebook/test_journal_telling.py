"""The file of events: the same words as on the bus, one line each, on the disk."""

from __future__ import annotations

import json
from pathlib import Path

from lucius.lifebook.adapters.journal import JournalAnalytics
from lucius.lifebook.core.events import event_of
from lucius.lifebook.item import detail_of
from lucius.testing.lifebook.runs import canceled, new_run


async def test_a_line_is_what_the_bus_is_told(tmp_path: Path) -> None:
    """Who moves from the file to the bus reads the same event; half a line of a crash spoils no other."""
    event = event_of(canceled(new_run()).run)
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"event_id": "torn')
    await JournalAnalytics(path).tell(event)
    torn, line = path.read_text().splitlines()
    assert torn == '{"event_id": "torn'
    told = json.loads(line)
    assert told == detail_of(event)
    assert (told["name"], told["job_id"], told["credits_spent"]) == ("workflow_run_canceled", event.job_id, 0)
    assert "started_at" not in told, "it never began, and nothing is null"
