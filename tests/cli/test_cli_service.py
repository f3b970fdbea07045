"""`lucius service`: a service of one's own in a real process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator

import httpx2
import pytest

from lucius.testing.processes import await_that, free_port
from tests.cli.conftest import PATIENCE, PROGRAM, Program, Server, environment

MODULE = '''
from lucius import sdk

@sdk.service("OCR")
async def shout(step):
    """Say it louder."""
    text = await step.document.text()
    return await step.workspace.write("loud.txt", text.upper())
'''


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A Lucius that waits for services."""
    running = Server(tmp_path_factory.mktemp("lucius"), "--services", "none")
    yield running
    assert running.stop() == 0, running.log()


@pytest.fixture
def shouting(lucius: Program) -> Iterator[subprocess.Popen[bytes]]:
    """A service of one's own at work, its stdin in our hands."""
    (lucius.home / "mine.py").write_text(MODULE)
    with (lucius.home / "log").open("wb") as log:
        process = subprocess.Popen(
            [*PROGRAM, "service", "mine:shout", "--store", "mine.db", "--until-eof"],
            stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=lucius.home,
            env=environment(LUCIUS_URL=lucius.url),
        )  # fmt: skip
    yield process
    process.kill()
    process.communicate()


def test_a_service_of_ones_own_does_the_work(lucius: Program, shouting: subprocess.Popen[bytes]) -> None:
    """A function in a module serves its step type until SIGTERM, and ends in 0."""
    (lucius.home / "note.txt").write_text("psst")
    job = lucius.json("submit", "note.txt", "--type", "OCR", "--wait")
    assert job["state"] == "SUCCEEDED"
    assert lucius("output", job["jobId"]).stdout == "PSST\n"
    assert (lucius.home / "mine.db").exists()
    shouting.terminate()
    assert shouting.wait(PATIENCE) == 0
    lines = [json.loads(line) for line in (lucius.home / "log").read_text().splitlines()]
    assert {line["service"] for line in lines} == {"mine:shout"}


def test_a_service_ends_with_whoever_started_it(lucius: Program, shouting: subprocess.Popen[bytes]) -> None:
    """With --until-eof the end of stdin ends the process, though nobody sent it a signal."""
    await_that(lambda: "service runs" in (lucius.home / "log").read_text(), "the service to run", PATIENCE)
    assert shouting.poll() is None
    assert shouting.stdin is not None
    shouting.stdin.close()
    assert shouting.wait(PATIENCE) != 0


def test_a_service_tells_how_it_is(lucius: Program) -> None:
    """`--health` answers probes once Lucius has been heard."""
    (lucius.home / "mine.py").write_text(MODULE)
    port = free_port()
    process = subprocess.Popen(
        [*PROGRAM, "service", "mine:shout", "--store", "mine.db", "--health", str(port)],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=lucius.home,
        env=environment(LUCIUS_URL=lucius.url, LUCIUS_SERVICE_WAIT_SECONDS="0.1"),
    )  # fmt: skip

    def ready() -> bool:
        try:
            return httpx2.get(f"http://127.0.0.1:{port}/readyz", trust_env=False).status_code == 200
        except httpx2.HTTPError:
            return False

    try:
        await_that(ready, "the service to be ready", PATIENCE)
    finally:
        process.terminate()
    assert process.wait(PATIENCE) == 0
