from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from lucius.entrypoints.cli.app import run
from lucius.testing.processes import free_port
from tests.conformance_kit.kits import WORD_COUNT

ANY_PORT = "http://127.0.0.1:0"


@pytest.fixture(autouse=True)
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the service under test finds in its environment."""
    monkeypatch.setenv("MEMORY", str(tmp_path / "memory"))
    monkeypatch.delenv("SIN", raising=False)
    monkeypatch.delenv("LUCIUS_API_KEY", raising=False)


def conformance(*words: str, command: tuple[str, ...] = WORD_COUNT) -> int:
    """The exit code of `lucius conformance`."""
    return run(["conformance", *words, *(["--", *command] if command else [])])


def test_a_service_that_conforms_ends_in_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The table names each case with its verdict, and the JUnit file has a test case for each."""
    junit = tmp_path / "reports" / "kit.xml"
    words = ("--http", ANY_PORT, "--case", "takes-work", "--case", "result", "--junit", str(junit))
    assert conformance(*words) == 0
    shown = capsys.readouterr()
    assert "takes-work" in shown.out
    assert "WORD_COUNT: 2 passed" in shown.out
    assert "✓ result" in shown.err
    suite = ET.fromstring(junit.read_bytes())  # noqa: S314 - our own file
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "0", "0")
    assert [one.get("name", "").split(":")[0] for one in suite] == ["takes-work", "result"]


def test_a_fault_ends_in_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was seen and why it matters stand in the table, the JSON document and the JUnit file."""
    monkeypatch.setenv("SIN", "wrong_digest")
    junit = tmp_path / "kit.xml"
    assert conformance("--http", ANY_PORT, "--case", "result", "--junit", str(junit), "--json") == 1
    document = json.loads(capsys.readouterr().out)
    assert document["counts"] == {"passed": 0, "failed": 1, "not judged": 0}
    assert "sha256" in document["findings"][0]["remark"]
    failure = ET.fromstring(junit.read_bytes()).find("testcase/failure")  # noqa: S314 - our own file
    assert failure is not None
    assert "sha256" in str(failure.get("message"))


def test_what_was_not_judged_is_not_passed(capsys: pytest.CaptureFixture[str]) -> None:
    """A case that lacks an example says which, and ends in 1 unless that is allowed."""
    words = ("--http", ANY_PORT, "--case", "bad-payload", "--case", "heartbeats")
    assert conformance(*words) == 1
    shown = capsys.readouterr().out
    assert "give --bad-payload" in shown
    assert "give --slow-payload" in shown
    assert conformance(*words, "--allow-unjudged") == 0


def test_a_service_that_somebody_else_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a command the kit says what to start, judges what it can, and ends the process it is told."""
    address = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setenv("LUCIUS_API_KEY", "lk_mine.of-old")
    environment = {**os.environ, "LUCIUS_URL": address}
    with subprocess.Popen(WORD_COUNT, env=environment) as service:
        try:
            words = ("--http", address, "--case", "takes-work", "--case", "crash-memory")
            assert conformance(*words, command=()) == 1
            shown = capsys.readouterr()
            assert f"LUCIUS_URL={address} LUCIUS_API_KEY=lk_mine.of-old" in shown.err
            assert "1 passed, 1 not judged" in shown.out
            number = tmp_path / "pid"
            number.write_text(f"{service.pid}\n")
            known = ("--http", address, "--pid", str(number), "--with", _sheet(tmp_path))
            assert conformance(*known, "--case", "drain-idle", command=()) == 1  # nobody starts it again
            assert "did not ask for work within 1 s" in capsys.readouterr().out
            assert service.wait(10) == 0
        finally:
            service.kill()


def _sheet(tmp_path: Path) -> str:
    path = tmp_path / "kit.yaml"
    path.write_text("start_within: 1\n")
    return str(path)


def test_a_python_service_brings_its_own_examples(capsys: pytest.CaptureFixture[str]) -> None:
    """With `--module` the step type and a payload that does not fit come from the service's model."""
    target = "tests.conformance_kit.sdk_word_count:count"
    words = ("--module", target, "--case", "bad-payload", "--case", "missing-input", "--json")
    assert conformance(*words, command=()) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["step_type"] == "WORD_COUNT"
    assert "INVALID_PAYLOAD" in document["findings"][0]["remark"]


def test_a_later_step_misses_what_earlier_ones_put_out(tmp_path: Path) -> None:
    """A service that reads `inputs` instead of the document is tried with inputs that are gone."""
    (tmp_path / "counting.py").write_text(
        "from lucius import sdk\n\n\n@sdk.service('LATER')\nasync def count(step: sdk.Step[dict]):\n"
        "    words = (await step.inputs['ocr'].text()).split()\n"
        "    return await step.workspace.write_json('count.json', len(words))\n"
    )
    (tmp_path / "text.txt").write_text("to be or not to be")
    (tmp_path / "kit.yaml").write_text("inputs: {ocr: text.txt}\n")
    words = (
        "--module",
        "counting:count",
        "--with",
        "kit.yaml",
        "--case",
        "result",
        "--case",
        "missing-input",
    )
    done = subprocess.run(
        [sys.executable, "-m", "lucius.entrypoints.cli", "conformance", *words],
        capture_output=True, text=True, check=False, timeout=60, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "INPUT_NOT_FOUND" in done.stdout


def test_nobody_asks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A program that ends at once is told with its last words, not as a hundred failures."""
    command = (sys.executable, "-c", "raise SystemExit('no licence found')")
    assert conformance("--http", ANY_PORT, "--with", _sheet(tmp_path), command=command) == 1
    assert "no licence found" in capsys.readouterr().err


def test_a_command_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    """A misspelt command is told as such."""
    assert conformance("--http", ANY_PORT, command=("no-such-program-anywhere",)) == 2
    assert "no-such-program-anywhere cannot be started" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--http", ANY_PORT, "--module", "a:b"),
        ("--http", "ftp://127.0.0.1:1"),
        ("--http", ANY_PORT, "--payload", "[1]"),
        ("--http", ANY_PORT, "--payload", "@no-such-file.json"),
        ("--http", ANY_PORT, "--input", "no-such-file.pdf"),
        ("--http", ANY_PORT, "--case", "no-such-case"),
        ("--http", ANY_PORT, "--lease", "-1"),
        ("--http", ANY_PORT, "--pid", "1"),
    ],
)
def test_a_wrong_command_line_ends_in_2(words: tuple[str, ...]) -> None:
    """What cannot be meant is told before anything is started."""
    assert conformance(*words) == 2


def test_a_file_of_options_with_a_wrong_name_ends_in_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A typing error in the file is no silent default."""
    sheet = tmp_path / "kit.yaml"
    sheet.write_text("slow_paylod: {}\n")
    assert conformance("--http", ANY_PORT, "--with", str(sheet)) == 2
    assert "slow_paylod" in capsys.readouterr().err
