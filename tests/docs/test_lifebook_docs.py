from __future__ import annotations

from pathlib import Path
from typing import Any

from docs import make_lifebook, make_lifebook_picture
from lucius.lifebook.core.states import TRANSITIONS
from lucius.testing.processes import Caller, Server, await_that
from tests.docs.pages import ROOT

ENDED = {"completed", "dead", "canceled"}


def test_the_tables_of_moves_are_the_table() -> None:
    """A move that changed without `make docs` is noticed here."""
    assert make_lifebook.PAGE.read_text("utf-8") == make_lifebook.page()
    assert make_lifebook.tables() in make_lifebook.page()


def test_the_picture_shows_every_move_and_no_other() -> None:
    """Who looks at the picture sees what the table allows."""
    assert make_lifebook_picture.shown() == TRANSITIONS
    assert make_lifebook_picture.PICTURE.read_text("utf-8") == make_lifebook_picture.picture()


def ended(caller: Caller, given: dict[str, str]) -> Any:
    """A run of the example workflow when it is over."""
    asked = {"workspace_id": "acme", "user_id": "ada", "workflow_id": "count-words", "input": given}
    status, made = caller.post("/v1/lifebook/jobs", asked)
    assert status == 201, made
    where = f"/v1/lifebook/jobs/{made['job_id']}"
    await_that(lambda: caller.get(where)[1]["status"] in ENDED, f"the end of {where}")
    return caller.get(where)[1]


def test_the_example_workflow_does_its_work(tmp_path: Path) -> None:
    """The module that people copy runs in a real Lucius, is paid for what it did, and says what is poison."""
    told = {
        "PYTHONPATH": str(ROOT / "examples"),
        "WORD_COUNTS": str(tmp_path / "counts"),
        "LUCIUS_LIFEBOOK_WORKFLOWS": "lifebook_workflow:registry",
    }
    with Server(tmp_path, "--services", "none", environment=told) as server:
        server.start()
        with server.calling() as caller:
            good, bad = ended(caller, {"text": "to be or not to be"}), ended(caller, {})
    assert (good["status"], good["credits_spent"]) == ("completed", 0.16)
    assert (bad["status"], bad["last_error_code"], bad["attempts"]) == ("dead", "TEXT_MISSING", 1)
    counted = tmp_path / "counts" / f"{good['job_id']}.json"
    assert counted.read_text() == '{"be": 2, "not": 1, "or": 1, "to": 2}'
    assert (tmp_path / "counts" / f"published-{good['job_id']}-2").read_text() == counted.as_uri()
