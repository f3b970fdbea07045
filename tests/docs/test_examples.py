from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from lucius.runtime.offline import check_configuration
from lucius.testing.processes import Caller, Server, await_that
from tests.docs.pages import ROOT, blocks

EXAMPLES = ROOT / "examples"
WORD_COUNT = ("--services", "none", "--config", str(EXAMPLES / "config"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A Lucius that knows WORD_COUNT and waits for somebody who does it."""
    with Server(tmp_path, *WORD_COUNT, "--files", str(tmp_path)) as running:
        running.start()
        yield running


@pytest.fixture
def service(server: Server) -> Iterator[subprocess.Popen[str]]:
    """The example service at work."""
    program = subprocess.Popen(
        [sys.executable, str(EXAMPLES / "service.py")],
        stdout=subprocess.PIPE,
        text=True,
        env={"LUCIUS_URL": f"http://127.0.0.1:{server.port}"},
    )
    yield program
    program.kill()
    program.communicate()


def submitted(caller: Caller, document: Path) -> str:
    """The id of a new job that counts the words of a document."""
    envelope = {
        "tenant_id": "acme",
        "request_type": "WORD_COUNT",
        "schema_version": "1",
        "input_ref": {"uri": document.as_uri()},
        "output_ref": {"uri": (document.parent / "out").as_uri()},
        "payload": {},
    }
    status, answer = caller.post("/v1/orchestrate", envelope)
    assert status == 202, answer
    return str(answer["jobId"])


def finished(caller: Caller, job_id: str) -> Any:
    """The job when it is over."""
    await_that(
        lambda: caller.get(f"/v1/jobs/{job_id}")[1]["completed_at"] is not None, f"the end of {job_id}"
    )
    return caller.get(f"/v1/jobs/{job_id}")[1]


def test_the_example_service_does_its_work(
    server: Server, service: subprocess.Popen[str], tmp_path: Path
) -> None:
    """A service of the standard library alone finishes a job, and says which failures are final."""
    (tmp_path / "play.txt").write_text("to be or not to be")
    with server.calling() as caller:
        done = finished(caller, submitted(caller, tmp_path / "play.txt"))
        failed = finished(caller, submitted(caller, tmp_path / "missing.txt"))
    count = Path(urlsplit(done["final_output"]["uri"]).path)
    assert json.loads(count.read_text()) == {"words": 6}
    assert count.parts[-3:-1] == ("WORD_COUNT", "1")
    assert (failed["state"], failed["error_code"]) == ("FAILED_FINAL", "INPUT_MISSING")


def test_the_example_service_outlives_lucius(
    server: Server, service: subprocess.Popen[str], tmp_path: Path
) -> None:
    """A Lucius that was killed and came back finds the service waiting."""
    (tmp_path / "play.txt").write_text("the rest is silence")
    with server.calling() as caller:
        finished(caller, submitted(caller, tmp_path / "play.txt"))
    server.kill()
    server.start()
    (tmp_path / "again.txt").write_text("words words words")
    with server.calling() as caller:
        assert finished(caller, submitted(caller, tmp_path / "again.txt"))["state"] == "SUCCEEDED"


def test_a_backup_of_a_running_lucius_can_be_started(server: Server, tmp_path: Path) -> None:
    """What was accepted before the backup is there after the restore, and is offered to services again."""
    with server.calling() as caller:
        job_id = submitted(caller, tmp_path / "play.txt")
    copied = tmp_path / "restored" / "data"
    arguments = [str(EXAMPLES / "backup.py"), str(server.data), str(copied)]
    subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
    assert copied.stat().st_mode & 0o077 == 0
    assert {path.name for path in copied.glob("*.db")} == {"ledger.db", "keys.db", "lifebook.db"}
    with Server(copied.parent, *WORD_COUNT) as restored:
        restored.start()
        with restored.calling() as caller:
            wanted = {"step_types": ["WORD_COUNT"], "wait_seconds": 20}
            assert caller.get(f"/v1/jobs/{job_id}")[1]["state"] in {"QUEUED", "DISPATCHING"}
            status, answer = caller.post("/v1/directives:receive", wanted)
    assert status == 200, answer
    assert [lent["directive"]["jobId"] for lent in answer["directives"]] == [job_id]


def test_the_example_configuration_is_good() -> None:
    """The protocol that people start from has nothing wrong with it."""
    assert check_configuration(EXAMPLES / "config") == []


def test_the_page_shows_the_signature_check_of_the_example() -> None:
    """The receiver's code on docs/webhooks.md is the code that is tested."""
    (page,) = [block.text for block in blocks(ROOT / "docs" / "webhooks.md") if block.info == "python"]
    program = (EXAMPLES / "webhook_receiver.py").read_text("utf-8")
    for line in page.splitlines():
        assert line.replace("300", "TOLERANCE_SECONDS") in program
