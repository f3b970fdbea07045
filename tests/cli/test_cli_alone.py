"""Commands that need no server, and how the program behaves when something is wrong."""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import socket
import subprocess
from pathlib import Path

import pytest

from lucius.entrypoints.cli.app import run
from lucius.testing.processes import free_port
from tests.cli.conftest import PATIENCE, PROGRAM, Program, Server, environment


@pytest.fixture
def alone(tmp_path: Path) -> Program:
    """The program where no server is."""
    return Program(f"http://127.0.0.1:{free_port()}", tmp_path)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty directory to stand in, and an environment that says nothing to Lucius."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("LUCIUS_")]:
        monkeypatch.delenv(name)


def test_no_server_is_told_in_one_sentence(alone: Program) -> None:
    """A server that is not there ends in 3 and says how to start one."""
    done = alone("jobs", "--json", code=3)
    assert done.stdout == ""
    assert "No Lucius answers at" in done.stderr
    assert "`lucius up`" in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["no-such-command"],
        ["jobs", "--no-such-option"],
        ["job"],
        ["jobs", "--limit", "0"],
        ["up", "--port", "banana"],
        ["keys"],
        [],
    ],
)
def test_a_wrong_command_line_ends_in_two(
    here: None, capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    """Usage errors end in 2, say what is wrong and where the help is."""
    assert run(arguments) == 2
    said = capsys.readouterr()
    assert "--help" in said.err + said.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["submit", "no-such-file", "-t", "OCR"], "NO_SUCH_FILE"),
        (["submit", "."], "NO_SUCH_FILE"),
        (["submit", "{broken", "-t", "OCR"], "BAD_JSON"),
        (["submit", '{"input_ref": {"uri": "s3://bucket/x"}}'], "TYPE_REQUIRED"),
        (["submit", "s3://bucket/x", "--prompt", "Who?", "--prompts", "stored"], "BAD_PAYLOAD"),
        (
            ["submit", "s3://bucket/x", "--prompt", "Who?", "--payload", '{"sis": {"prompt_set": "x"}}'],
            "BAD_PAYLOAD",
        ),
        (["submit", "s3://bucket/x", "-t", "OCR", "--payload", "[1]"], "BAD_PAYLOAD"),
        (["submit", "s3://bucket/x", "-t", "OCR", "--payload", "@nowhere.json"], "FILE_UNREADABLE"),
        (["jobs", "--url", "localhost:8700"], "BAD_URL"),
        (["jobs", "--key-file", "nowhere"], "KEY_FILE_UNREADABLE"),
        (["keys", "create", "--role", "king"], "UNKNOWN_ROLE"),
        (["keys", "create", "--tenant", "A B"], "BAD_SCOPE"),
        (["up", "--services", "real"], "BAD_SETTINGS"),
        (["service", "translation"], "BAD_TARGET"),
        (["service", "no.such.module:name"], "NO_SUCH_MODULE"),
        (["service", "lucius.core.refs:no_such_name"], "NO_SUCH_SERVICE"),
        (["service", "lucius.core.refs:check_ref"], "NOT_A_SERVICE"),
        (["service", "ocr", "--health", "somewhere"], "BAD_SETTINGS"),
        (["service", "ocr", "--key-file", "nowhere"], "KEY_FILE_UNREADABLE"),
    ],
)
def test_what_the_command_line_names_wrongly_ends_in_two(
    here: None, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str
) -> None:
    """A mistake of whoever typed it is never taken for a job that failed: 2, a sentence and a stable code."""
    assert run(arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert f"[{code}]" in said.err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            "import json\njson.no_such_name()\n",
            "module 'json' has no attribute 'no_such_name' (",
        ),
        ("def (\n", "SyntaxError: invalid syntax (broken_service.py, line 1)"),
        ("import no_such_library\n", "There is no module no_such_library"),
    ],
)
def test_a_service_that_cannot_be_imported(alone: Program, text: str, told: str) -> None:
    """A mistake in somebody's module is told in a sentence with its line, not taken for a missing service."""
    (alone.home / "broken_service.py").write_text(text)
    for command in ("service", "conformance --module"):
        done = alone(*command.split(), "broken_service:execute", code=2)
        assert told in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["verify", "nowhere.db"], "NO_LEDGER"), (["keys", "revoke", "nobody"], "NO_SUCH_KEY")],
)
def test_what_is_not_there_is_told_with_its_code(
    here: None, capsys: pytest.CaptureFixture[str], arguments: list[str], code: str
) -> None:
    """What was asked for in vain ends in 1 with a sentence and a stable code, never with a traceback."""
    assert run(arguments) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert f"[{code}]" in said.err


def test_a_port_that_is_taken_is_told_before_anything_starts(alone: Program) -> None:
    """`up` on a busy port says so, ends in 1 and leaves no data directory behind."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        done = alone("up", "--port", str(other.getsockname()[1]), "--data", "d", code=1)
    assert "[ADDRESS_UNUSABLE]" in done.stderr
    assert not (alone.home / "d").exists()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--host", "0.0.0.0"], "OPEN_BIND_REFUSED"),  # noqa: S104
        (["--config", "nowhere"], "CONFIG_INVALID"),
    ],
)
def test_a_server_that_must_not_start_says_why(alone: Program, options: list[str], code: str) -> None:
    """`up` refuses to serve the world without keys, and to start with a broken configuration."""
    done = alone("up", "--port", "0", *options, code=1)
    assert done.stdout == ""
    assert f"[{code}]" in done.stderr


def test_keys_are_made_listed_and_revoked_in_the_data_directory(alone: Program) -> None:
    """A key is printed once; the list never shows it; a revoked key stays in the list as such."""
    made = alone.json("keys", "create", "ci", "--tenant", "acme", "--role", "read", "--data", "d")
    assert made["key"].startswith(f"lk_{made['key_id']}_")
    plain = alone("keys", "create", "--data", "d")
    assert plain.stdout.startswith("lk_")
    assert plain.stdout.count("\n") == 1
    listed = alone("keys", "list", "--data", "d").stdout
    assert made["key_id"] in listed
    assert made["key"] not in listed
    assert alone.json("keys", "revoke", made["key_id"], "--data", "d")["changed"]
    assert not alone.json("keys", "revoke", made["key_id"], "--data", "d")["changed"]
    found = {key["key_id"]: key for key in alone.json("keys", "list", "--data", "d")["keys"]}
    assert found[made["key_id"]]["revoked_at"] is not None
    assert found[made["key_id"]]["tenants"] == ["acme"]
    assert oct((alone.home / "d" / "keys.db").stat().st_mode)[-3:] == "600"


def test_a_server_with_keys_wants_one(tmp_path: Path) -> None:
    """After the first key nobody gets in without; the key opens the door until it is revoked."""
    server = Server(tmp_path)
    lucius = Program(server.url, tmp_path)
    try:
        lucius("jobs")
        made = lucius.json("keys", "create", "--data", str(tmp_path / "data"))
        (tmp_path / "key").write_text(made["key"] + "\n")
        assert "[UNAUTHENTICATED]" in lucius("jobs", code=1).stderr
        lucius("jobs", "--key-file", "key")
        lucius("jobs", LUCIUS_API_KEY=made["key"])
        lucius("keys", "revoke", made["key_id"], "--data", str(tmp_path / "data"))
        assert "--key-file" in lucius("jobs", "--key-file", "key", code=1).stderr
    finally:
        assert server.stop() == 0


def test_a_server_on_all_addresses_names_one_that_can_be_called(tmp_path: Path) -> None:
    """Nobody can call 0.0.0.0: the banner names this machine, and one warning says what others need."""
    Program("", tmp_path)("keys", "create", "--data", "data")
    server = Server(tmp_path, "--host", "0.0.0.0")  # noqa: S104
    assert server.stop() == 0
    assert f" on {server.url}\n" in server.log()
    assert server.log().count("need LUCIUS_PUBLIC_URL") == 1


def test_a_configuration_is_checked_with_file_and_line(alone: Program) -> None:
    """`protocols check` names file and line of every problem, and passes a good directory."""
    protocols = alone.home / "config" / "protocols"
    protocols.mkdir(parents=True)
    (protocols / "mine.yaml").write_text("request_type: MINE\nversion: 1\nsteps: 7\n")
    done = alone("protocols", "check", "config", code=1)
    assert "mine.yaml:3:" in done.stderr
    document = alone.json("protocols", "check", "config", code=1)
    assert document["problems"][0]["line"] == 3
    (protocols / "mine.yaml").write_text(
        "request_type: MINE\nversion: 1\nsteps:\n  - {step_id: ocr, step_type: OCR, service: ocr-service}\n"
    )
    assert alone.json("protocols", "check")["ok"]


def test_the_doctor_says_what_to_do(alone: Program) -> None:
    """`doctor` answers each question, warns of open mode, and fails when something would stop Lucius."""
    report = alone.json("doctor", "--data", "d")
    found = {one["name"]: one for one in report["findings"]}
    assert set(found) == {
        "python", "sqlite", "services", "data", "disk", "config", "clock", "server", "port", "access"
    }  # fmt: skip
    assert "[reference]" in found["services"]["detail"]
    assert found["server"]["state"] == "warn"
    assert "lucius up" in found["server"]["remedy"]
    assert found["access"]["state"] == "warn"
    assert not (alone.home / "d").exists()
    worse = alone.json("doctor", "--data", "d", "--config", "nowhere", code=1)
    assert [one["name"] for one in worse["findings"] if one["state"] == "fail"] == ["config"]


def test_output_that_cannot_be_written_is_told(alone: Program) -> None:
    """A full disk ends in 1 with a sentence; a reader who leaves early is nobody's mistake."""
    program = " ".join(shlex.quote(word) for word in [*PROGRAM, "doctor"])
    done = subprocess.run(
        ["sh", "-c", f"{program} > /dev/full"], capture_output=True, text=True, check=False, env=environment()
    )
    assert (done.returncode, "No space left" in done.stderr, "Traceback" in done.stderr) == (1, True, False)
    left = subprocess.run(
        ["sh", "-c", f"{program} | true"], capture_output=True, text=True, check=False, env=environment()
    )
    assert left.stderr == ""


def test_the_version_is_told(alone: Program) -> None:
    """`version` names Lucius and Python."""
    assert set(alone.json("version")) == {"lucius", "python"}


def test_options_of_the_server_may_stand_before_the_command(alone: Program) -> None:
    """`lucius --url X jobs` and `lucius jobs --url X` are the same, and the later one wins."""
    assert "http://127.0.0.1:9" in alone("--url", "http://127.0.0.1:9", "jobs", code=3).stderr
    both = alone("--url", "http://127.0.0.1:9", "jobs", "--url", "http://127.0.0.1:7", code=3)
    assert "http://127.0.0.1:7" in both.stderr


def test_every_command_explains_itself(alone: Program) -> None:
    """Each command has help that fits its purpose, and completion is offered for shells."""
    commands = ["demo", "up", "doctor", "version", "submit", "plan", "jobs", "job", "watch", "events"]
    commands += ["explain", "cancel", "pause", "resume", "retry", "lanes", "verify"]
    commands += ["dead-letters", "protocols", "keys", "service", "output", "new-service", "conformance"]
    overview = alone("--help").stdout
    assert [name for name in commands if f" {name} " not in overview] == []
    assert "--wait" in alone("submit", "--help").stdout
    shown = alone("--show-completion", "bash", _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert "_LUCIUS_COMPLETE" in shown.stdout
    completed = subprocess.run(
        PROGRAM, capture_output=True, text=True, check=False, timeout=PATIENCE,
        env=environment(_LUCIUS_COMPLETE="complete_bash", COMP_WORDS="lucius exp", COMP_CWORD="1"),
    )  # fmt: skip
    assert completed.stdout.split() == ["explain"]


def test_colour_is_for_terminals_that_want_it(tmp_path: Path) -> None:
    """A terminal gets colour, NO_COLOR and pipes get none, and the words are the same."""
    coloured = _on_terminal(tmp_path, ["doctor"], {"TERM": "xterm-256color"})
    plain = _on_terminal(tmp_path, ["doctor"], {"TERM": "xterm-256color", "NO_COLOR": "1"})
    assert "\x1b[32m✓" in coloured
    assert "\x1b[32m" not in plain
    assert "✓" in plain


def test_a_person_is_asked_and_a_program_is_not(tmp_path: Path) -> None:
    """Revoking asks on a terminal and takes no for an answer; without a terminal it just does it."""
    alone = Program("http://127.0.0.1:9", tmp_path)
    made = alone.json("keys", "create", "--data", "d")
    asked = _on_terminal(tmp_path, ["keys", "revoke", made["key_id"], "--data", "d"], {}, typed="n\n")
    assert "for good? [y/N]" in asked
    assert alone.json("keys", "revoke", made["key_id"], "--data", "d")["changed"]


def test_the_demo_tells_the_whole_story(alone: Program) -> None:
    """`demo` reads a real PDF, answers with pages, tells the story, leaves nothing behind and exits 0."""
    (alone.home / "tmp").mkdir()
    done = alone("demo", "--keep", "kept", TMPDIR=str(alone.home / "tmp"))
    assert "SUCCEEDED" in done.stdout
    assert done.stdout.count("picked up by a service") == 6  # live, and again in the story
    for answer, page in (("NWW-2030-07", "1"), ("142 metres", "2"), ("9,874,300", "3"), ("March 2032", "4")):
        assert re.search(rf"{answer}.* {page} ", done.stdout), done.stdout
    assert "Where to go next" in done.stdout
    assert done.stderr == ""
    assert list((alone.home / "tmp").iterdir()) == []
    assert (alone.home / "kept" / "report.pdf").read_bytes().startswith(b"%PDF")
    assert (alone.home / "kept" / "ocr" / "output.txt").read_text().count("\f") == 3
    assert len(json.loads((alone.home / "kept" / "sis" / "result.json").read_text())["answers"]) == 5


def test_the_demo_without_real_services_says_so(alone: Program) -> None:
    """With echo in place of the extra the demo still tells a story, and that nothing was really done."""
    done = alone("demo", "--services", "echo", "--delay", "0", TMPDIR=str(alone.home))
    assert "only pretend" in done.stdout
    assert "lucius[reference]" in done.stdout
    assert "SUCCEEDED" in done.stdout
    assert list(alone.home.iterdir()) == []


def test_the_demo_for_programs(alone: Program) -> None:
    """`demo --json` prints the finished job and nothing else."""
    job = alone.json("demo", "--services", "echo", "--delay", "0")
    assert (job["state"], len(job["steps"])) == ("SUCCEEDED", 3)


def _on_terminal(home: Path, arguments: list[str], env: dict[str, str], typed: str = "") -> str:
    """What the program writes when its three streams are a terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*PROGRAM, *arguments], stdin=theirs, stdout=theirs, stderr=theirs, cwd=home, env=environment(**env)
    )
    os.close(theirs)
    if typed:
        os.write(ours, typed.encode())
    written = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        written += part
    process.wait(PATIENCE)
    os.close(ours)
    return written.decode()


def test_documents_are_utf8_and_complete(alone: Program) -> None:
    """--json keeps what is not ASCII as it is and ends with a newline."""
    alone.json("keys", "create", "schlüssel", "--data", "d")
    listed = alone("keys", "list", "--data", "d", "--json").stdout
    assert json.loads(listed)["keys"][0]["name"] == "schlüssel"
    assert "schlüssel" in listed
    assert listed.endswith("}\n")
