"""`lucius verify`: the ledger and, where there is one, the lifebook beside it."""

from __future__ import annotations

import json
from pathlib import Path

import apsw
import pytest

from lucius.entrypoints.cli.app import run
from lucius.lifebook.examples import WORKFLOW_ID
from lucius.lifebook.usecases.create import RunRequest
from lucius.runtime.lifecycle import running
from lucius.runtime.settings import Settings
from tests.lifebook.test_verify_lifebook import life


@pytest.fixture
async def data(tmp_path: Path) -> Path:
    """The data directory of a Lucius that has ended, with a run in it."""
    settings = Settings(data=tmp_path, port=0, drain_seconds=0.2, lifebook_concurrency=0)
    request = RunRequest(workspace_id="acme", user_id="ada", workflow_id=WORKFLOW_ID)
    async with running(settings) as lucius:
        assert lucius.lifebook is not None
        await lucius.lifebook.desk.create.create(request)
    return tmp_path


def _said(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict]:
    code = run(["verify", *arguments, "--json"])
    return code, json.loads(capsys.readouterr().out)


async def test_both_files_of_a_data_directory_are_verified(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One command says of ledger and lifebook that they are sound, and either one's damage ends it in 1."""
    code, said = _said(capsys, "--data", str(data))
    assert (code, said["ok"], said["lifebook"]["ok"], said["lifebook"]["runs"]) == (0, True, True, 1)
    apsw.Connection(str(data / "lifebook.db")).execute("UPDATE lanes SET ready = ready + 1")
    code, said = _said(capsys, "--data", str(data))
    assert (code, said["ok"], said["broken"], said["lifebook"]["broken"]) == (1, False, 0, 1)
    assert run(["verify", "--data", str(data)]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "ledger.db keeps every promise" in shown
    assert "lifebook.db shows 1 broken promise" in shown
    assert "some may never be lent; stop all that use the file" in shown


async def test_a_file_that_is_named_is_verified_alone(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The ledger alone has no word of the lifebook; the lifebook alone none of the ledger."""
    _, ledger = _said(capsys, str(data / "ledger.db"))
    code, lifebook = _said(capsys, str(data / "lifebook.db"))
    assert "lifebook" not in ledger
    assert (code, "jobs" in lifebook, lifebook["lifebook"]["runs"]) == (0, False, 1)


async def test_a_machine_with_workers_only_has_no_ledger(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lifebook without a ledger is verified alone; that there is neither is told."""
    assert run(["verify", "--data", str(tmp_path)]) == 1
    assert "[NO_LEDGER]" in capsys.readouterr().err
    async with life(tmp_path / "lifebook.db"):
        code, said = _said(capsys, "--data", str(tmp_path))
    assert (code, said["lifebook"]["runs"]) == (0, 7)
