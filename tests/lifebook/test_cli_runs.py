"""`lucius lifebook …` against a real `lucius up`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lucius.entrypoints.cli.app import run
from lucius.testing.processes import Server, await_that

ROOT = Path(__file__).parents[2]
PROGRAM = [sys.executable, "-m", "lucius.entrypoints.cli", "lifebook"]
SETTINGS = {
    "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    "LUCIUS_LIFEBOOK_WORKFLOWS": "tests.lifebook.cli_workflows:registry",
    "LUCIUS_LIFEBOOK_BACKOFF_SECONDS": "1",
    "LUCIUS_LIFEBOOK_SWEEP_SECONDS": "0.1",
    "LUCIUS_LIFEBOOK_LEASE_SECONDS": "1",  # a canceled run's worker hears of it soon
}
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class Said(NamedTuple):
    """What a command wrote, and the code it ended in."""

    out: str
    err: str
    code: int


class Program:
    """`lucius lifebook` in this process, pointed at one server."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str, code: int = 0) -> Said:
        """Run it to its end and expect this exit code."""
        ended = int(run(["lifebook", *arguments]))
        written = self._capsys.readouterr()
        assert ended == code, written.out + written.err
        return Said(written.out, written.err, ended)

    def json(self, *arguments: str, code: int = 0) -> Any:
        """Run it with --json; the one document on stdout."""
        return json.loads(self(*arguments, "--json", code=code).out)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One Lucius for all tests here."""
    with Server(tmp_path_factory.mktemp("lucius"), "--services", "none", environment=SETTINGS) as running:
        running.start()
        yield running
        assert running.terminate() == 0, running.said()


@pytest.fixture
def lifebook(server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Program:
    """The program, with nothing in its environment but the server's address."""
    for name in [name for name in os.environ if name.startswith("LUCIUS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("LUCIUS_URL", f"http://127.0.0.1:{server.port}")
    return Program(capsys)


def test_a_run_is_followed_through_its_failure_to_its_end(lifebook: Program) -> None:
    """`run` tells the failure, the wait and the resume at the cursor, and ends in 0 when it completed."""
    done = lifebook("run", "example-four-steps", "--workspace", "told", "--input", "pages=3")
    assert "4.50 credits reserved" in done.out
    assert "step 3 of 4, enrich: failed with EXAMPLE_FAILURE" in done.out
    assert "next try in" in done.out
    assert "goes on with step 3, enrich; collect, extract are not run again" in done.out
    assert "completed for 4.50 credits" in done.out.splitlines()[-1]
    assert done.err == ""


def test_the_same_key_is_the_same_run(lifebook: Program) -> None:
    """A run that was started before under the key is followed, not started again."""
    first = lifebook.json("run", "example-four-steps", "--key", "once", "--input", 'tags=["a"]')
    again = lifebook.json("run", "example-four-steps", "--key", "once", "--input", 'tags=["a"]')
    assert (first["status"], first["input"]) == ("completed", {"tags": ["a"]})
    assert again["job_id"] == first["job_id"]


def test_a_dead_run_ends_in_one_and_can_be_redriven_once(lifebook: Program) -> None:
    """A poisoned run exits 1, its letter is listed, redriving makes one new run, discarding takes it away."""
    died = lifebook("run", "hopeless", code=1)
    assert "failed for good: BLANK_PAGE: the page is blank; 2.75 reserved credits are free again" in died.out
    found = UUID.search(died.out)
    assert found is not None
    await_that(lambda: found[0] in lifebook("dead-letters").out, "the letter", within=20)
    new = lifebook.json("redrive", found[0])
    assert (new["retry_of"], new["workflow_id"]) == (found[0], "hopeless")
    assert found[0] not in lifebook("dead-letters").out
    await_that(lambda: new["job_id"] in lifebook("dead-letters").out, "the letter of the redriven", within=20)
    assert "1 dead letter" in lifebook("discard", new["job_id"]).out
    assert "no dead letters" in lifebook("discard", new["job_id"]).out


def test_a_running_run_is_canceled_and_retried(lifebook: Program) -> None:
    """Cancel ends it at once, waiting for it ends in 1, and retry is a new run, the same when asked twice."""
    made = lifebook.json("run", "lasting", "--no-wait", "--workspace", "stop")
    job = made["job_id"]
    await_that(lambda: lifebook.json("show", job)["step_cursor"] == 1, "the second step", within=20)
    assert lifebook("show", job).out.count("holds the run until") == 1
    assert "lucius lifebook show ID" in lifebook("retry", job, code=1).err
    waited = lifebook("watch", job, "--timeout", "0.05", code=4)
    assert f"lucius lifebook watch {job}" in waited.out
    assert "⊘ canceled" in lifebook("cancel", job, "--reason", "not needed").out
    assert "canceled: not needed; 0.75 reserved credits are free again" in lifebook("watch", job, code=1).out
    new = lifebook.json("retry", job)
    assert new["job_id"] != job == new["retry_of"]
    assert lifebook.json("retry", job)["job_id"] == new["job_id"]
    assert lifebook.json("cancel", new["job_id"])["status"] == "canceled"
    assert {one["job_id"] for one in lifebook.json("runs", "--workspace", "stop")["jobs"]} == {
        job,
        new["job_id"],
    }
    assert f"{new['job_id']}   ⊘ canceled" in lifebook("runs", "--workspace", "stop").out


def test_credits_are_added_once_for_each_id(lifebook: Program) -> None:
    """A deposit with an id may be said twice; another amount under it is refused."""
    before = lifebook.json("wallet", "payer")["available"]
    assert lifebook.json("deposit", "payer", "12.5", "--id", "bill-1")["available"] == before + 12.5
    assert "deposited   12.50" in lifebook("deposit", "payer", "12.5", "--id", "bill-1").out
    assert "bill-1 brought 12.50 credits" in lifebook("deposit", "payer", "13", "--id", "bill-1", code=1).err
    poor = lifebook("run", "costly", "--workspace", "payer", code=1)
    assert "`lucius lifebook deposit W CREDITS` adds some." in poor.err


def test_a_server_says_at_its_start_who_executes_runs(server: Server) -> None:
    """Whoever starts Lucius sees that it serves runs, where they lie, and how many go on at once."""
    assert "  runs      in lifebook.db, 4 at once" in server.said()


def test_what_can_be_run_is_listed(lifebook: Program) -> None:
    """`workflows` names every workflow with its steps and what they cost."""
    shown = lifebook("workflows").out
    assert "collect (0.50) → extract (1.50) → enrich (2.00) → publish (0.50)" in shown
    assert [one["workflow_id"] for one in lifebook.json("workflows")["workflows"]] == [
        "costly", "example-four-steps", "hopeless", "lasting",
    ]  # fmt: skip


def test_schedules_are_made_paused_resumed_and_removed(lifebook: Program) -> None:
    """A schedule shows when it comes next, that it is paused, and is gone when removed."""
    made = lifebook.json("schedules", "add", "hopeless", "0 0 1 1 *", "--workspace", "clock")
    name = made["schedule_id"]
    assert "0 0 1 1 *" in lifebook("schedules", "list", "--workspace", "clock").out
    assert "‖ paused" in lifebook("schedules", "pause", name).out
    assert "paused" not in lifebook("schedules", "resume", name).out
    assert f"schedule {name} removed" in lifebook("schedules", "remove", name).out
    gone = lifebook("schedules", "remove", name, code=1)
    assert "`lucius lifebook schedules list` lists what there is. [NO_SUCH_SCHEDULE]" in gone.err
    assert "INVALID_CRON" in lifebook("schedules", "add", "hopeless", "99 * * * *", code=1).err


def test_the_shown_call_of_a_hook_works_as_it_stands(lifebook: Program) -> None:
    """What `hooks add` prints can be pasted into a shell and starts a run; the secret is not shown again."""
    made = lifebook("hooks", "add", "example-four-steps", "--workspace", "hooked").out
    secret = re.search(r"whsec_\S+=", made)
    assert secret is not None
    listed = lifebook("hooks", "list", "--workspace", "hooked").out
    assert secret[0] not in listed
    script = made[made.index("python3 - <<") :].replace("python3", sys.executable, 1)
    called = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True, timeout=30)
    job = json.loads(called.stdout)["job_id"]
    assert lifebook.json("watch", job)["input"] == {"payload": {"file": "report.pdf"}}
    hook = UUID.search(listed)
    assert hook is not None
    lifebook("hooks", "remove", hook[0])
    assert "No hooks in hooked." in lifebook("hooks", "list", "--workspace", "hooked").out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["show", "nobody"], 1, "`lucius lifebook runs` lists what there is. [NO_SUCH_RUN]"),
        (["cancel", "nobody"], 1, "[NO_SUCH_RUN]"),
        (["run", "nothing"], 1, "There is no workflow nothing; registered are: costly, example-four-steps"),
        (["run", "hopeless", "--input", "pages"], 2, "--input takes NAME=VALUE, not 'pages'."),
        (["run", "hopeless", "--input-file", "missing.json"], 2, "missing.json cannot be read"),
        (["deposit", "payer", "0.001"], 1, "write at most two decimals"),
        (["provision"], 1, "name it with LUCIUS_LIFEBOOK_ENDPOINT"),
    ],
)
def test_what_is_wrong_is_one_sentence(lifebook: Program, arguments: list[str], code: int, said: str) -> None:
    """Errors say what to do, on stderr, and nothing stands on stdout."""
    done = lifebook(*arguments, code=code)
    assert said in done.err
    assert done.out == ""


def test_provision_does_not_touch_aws(lifebook: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    """An endpoint that is AWS itself is refused before anything is asked of it."""
    monkeypatch.setenv("LUCIUS_LIFEBOOK_ENDPOINT", "https://dynamodb.us-east-1.amazonaws.com")
    assert "Terraform" in lifebook("provision", code=1).err


def test_a_worker_of_its_own_takes_runs_and_drains(server: Server, lifebook: Program) -> None:
    """A worker process says what it works on, completes runs of the same data, and ends in 0 on Ctrl-C."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
    worker = subprocess.Popen(
        [*PROGRAM, "worker", "--data", str(server.data), "--concurrency", "2"],
        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=inherited | SETTINGS,
    )  # fmt: skip
    assert worker.stderr is not None
    head = [worker.stderr.readline() for _ in range(5)]
    assert "costly, example-four-steps, hopeless, lasting" in "".join(head)
    made = lifebook.json("run", "example-four-steps", "--workspace", "shared")
    worker.send_signal(signal.SIGINT)
    worker.communicate(timeout=30)
    assert (made["status"], worker.returncode) == ("completed", 0)
