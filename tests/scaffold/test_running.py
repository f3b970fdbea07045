from __future__ import annotations

import ast
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from lucius.testing.processes import Caller, Server, await_that, free_port
from tests.scaffold.conftest import PATIENCE, Project

QUICK = (
    "takes-work", "result", "several", "duplicate-done", "malformed", "bad-payload", "missing-input",
    "drain-idle",
)  # fmt: skip


@pytest.fixture
def server(project: Project, tmp_path: Path) -> Iterator[Server]:
    """A Lucius that knows the generated protocol and leaves the work to others."""
    config = str(project.folder / "config")
    with Server(tmp_path, "--services", "none", "--config", config, "--files", str(tmp_path)) as running:
        running.start()
        yield running


@pytest.fixture
def health() -> int:
    """The port of the service's probes."""
    return free_port()


@pytest.fixture
def service(
    project: Project, server: Server, health: int, tmp_path: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """The generated service, set up as in its image: it remembers in one place."""
    state = tmp_path / "state"
    state.mkdir()
    environment = project.environment(
        LUCIUS_URL=f"http://127.0.0.1:{server.port}",
        LUCIUS_SERVICE_STORE=str(state / "attempts.db"),
        LUCIUS_SERVICE_HEALTH=str(health),
        PYTHONDONTWRITEBYTECODE="1",
    )
    with (tmp_path / "service.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", project.package],
            cwd=project.folder,
            env=environment,
            stdout=log,
            stderr=log,
        )
    yield process
    process.kill()
    process.wait()


def test_a_job_goes_through_the_generated_service(
    project: Project, server: Server, service: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    """A real Lucius, the real process, a real document: the result lies in the attempt's own folder."""
    before = set(project.files())
    (tmp_path / "play.txt").write_text("the rest\nis silence")
    with server.calling() as caller:
        status, answer = caller.post(
            "/v1/orchestrate",
            {
                "tenant_id": "acme",
                "request_type": "WORD_COUNT",
                "schema_version": "1",
                "input_ref": {"uri": (tmp_path / "play.txt").as_uri()},
                "output_ref": {"uri": (tmp_path / "out").as_uri()},
                "payload": {"word_count": {"min_length": 3}},
            },
        )
        assert status == 202, answer
        path = f"/v1/jobs/{answer['jobId']}"
        await_that(lambda: caller.get(path)[1]["completed_at"] is not None, f"the end of {answer['jobId']}")
        job = caller.get(path)[1]
    assert job["state"] == "SUCCEEDED", job
    result = Path(urlsplit(job["final_output"]["uri"]).path)
    assert json.loads(result.read_text()) == {"lines": 2, "words": 3}
    assert result.parts[-3:-1] == ("WORD_COUNT", "1")
    assert set(project.files()) == before
    service.send_signal(signal.SIGTERM)
    assert service.wait(PATIENCE) == 0


def test_the_health_check_of_the_image_works(
    project: Project, service: subprocess.Popen[bytes], health: int
) -> None:
    """The very command in the Dockerfile is content with a running service, and only with that."""
    (words,) = re.findall(r"CMD (\[\"python\", \"-c\", .*\])", project.files()["Dockerfile"])
    _, option, program = ast.literal_eval(words)
    program = program.replace("8080", str(health))

    def probe() -> int:
        check = [sys.executable, option, program]
        return subprocess.run(check, capture_output=True, check=False, timeout=PATIENCE).returncode

    await_that(lambda: answers(health), "the probes")
    assert probe() == 0
    service.kill()
    service.wait()
    assert probe() != 0


def answers(port: int) -> bool:
    """Whether somebody listens."""
    try:
        with Caller(port, timeout=5.0) as caller:
            caller.get("/nothing")
    except OSError:
        return False
    except ValueError:  # an answer, but no JSON
        return True
    return True


def test_it_conforms_as_generated(project: Project) -> None:
    """The kit finds nothing wrong in its quick cases; the tutorial's test goes through all of them."""
    only = [word for case in QUICK for word in ("--case", case)]
    said = project.run(
        "-m", "lucius.entrypoints.cli", "conformance", "--module", project.target,
        "--with", "conformance.yaml", *only,
    )  # fmt: skip
    assert f"WORD_COUNT: {len(QUICK)} passed" in said
