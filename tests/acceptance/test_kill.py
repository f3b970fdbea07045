"""kill -9 of real processes, at points nobody chose for their comfort."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
from itertools import count
from pathlib import Path

import pytest

from lucius.testing.processes import Server, await_that
from tests.acceptance.jobs import ACCEPTED, Ledger, command, submit_all

STEPS = 3
EVERY = {"PENDING", "IN_PROGRESS", "SUCCEEDED"}
SERVICE = Path(__file__).with_name("service.py")
CLIENT = Path(__file__).with_name("client.py")


def settled(server: Server, keys: list[str], acknowledged: dict[str, str]) -> None:
    """Every key is one job, every answered job is there, all have succeeded, and no promise is broken."""
    ledger = Ledger(server.data)
    await_that(lambda: ledger.open_jobs() == 0, "the end of every job")
    server.terminate()
    assert set(acknowledged.values()) <= ledger.job_ids()
    assert ledger.states() == {"SUCCEEDED": len(keys)}
    assert ledger.succeeded_steps() == STEPS * len(keys)
    assert ledger.breaches() == []


def time_to_start(directory: Path) -> float:
    """The seconds until a Lucius without jobs is ready."""
    with Server(directory, "--services", "echo") as empty:
        return empty.start()


def test_500_running_jobs_survive_a_kill(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A kill -9 amid 500 running jobs: ready as fast as when empty, all succeed, nothing counts twice."""
    (tmp_path / "empty").mkdir()
    before = time_to_start(tmp_path / "empty")
    keys = [f"job-{number}" for number in range(500)]
    with Server(tmp_path, "--echo-delay", "0.8") as server:
        server.start("--services", "none")
        acknowledged = submit_all(server, keys)  # however long that takes, none of them ends meanwhile
        server.kill()
        server.start("--services", "echo")
        ledger = Ledger(server.data)
        # Some steps are over, most are not: they stand in every state there is.
        await_that(lambda: ledger.succeeded_steps() >= 400 and ledger.step_states() >= EVERY, "400 steps")
        server.kill()
        assert len(acknowledged) == len(keys)
        running = ledger.open_jobs()
        again = server.start("--services", "echo")
        assert running == len(keys)
        settled(server, keys, acknowledged)
    # Taken before and after: what else the machine did meanwhile is in neither or in one of them.
    empty = max(before, time_to_start(tmp_path / "empty"))
    with capsys.disabled():
        sys.stdout.write(f"\nready in {again:.2f} s with {running} running jobs, {empty:.2f} s empty\n")
    assert again < 4 * empty


def kill_cycles(directory: Path, cycles: int, jobs: int, seed: int) -> None:
    """Kill at a random number of accepted step results, again and again, while clients submit."""
    chance = random.Random(seed)
    names = (f"job-{number}" for number in count())
    keys: list[str] = []
    acknowledged: dict[str, str] = {}
    unanswered: list[str] = []
    with Server(directory, "--services", "echo", "--echo-delay", "0.02") as server:
        ledger = Ledger(server.data)
        for _ in range(cycles):
            server.start()
            new = [next(names) for _ in range(jobs)]
            keys += new
            sending = [*unanswered, *new, *chance.sample(sorted(acknowledged), min(3, len(acknowledged)))]
            goal = ledger.succeeded_steps() + chance.randint(0, STEPS * jobs)
            heard: dict[str, str] = {}
            sender = threading.Thread(target=lambda: heard.update(submit_all(server, sending)))  # noqa: B023
            sender.start()
            await_that(
                lambda: ledger.succeeded_steps() >= goal or not (ledger.open_jobs() or sender.is_alive()),  # noqa: B023
                f"{goal} steps",
            )
            server.kill()
            sender.join()
            for key, job_id in heard.items():
                assert acknowledged.setdefault(key, job_id) == job_id, f"{key} is two jobs"
            unanswered = [key for key in keys if key not in acknowledged]
        server.start()
        acknowledged |= submit_all(server, unanswered)
        settled(server, keys, acknowledged)


def test_jobs_survive_many_kills_while_clients_submit(tmp_path: Path) -> None:
    """However often and whenever it is killed: one job a key, none lost, none doubled, all succeed."""
    kill_cycles(tmp_path, cycles=12, jobs=60, seed=2)


@pytest.mark.proof
@pytest.mark.parametrize("seed", range(10))
def test_20_000_jobs_survive_300_kills(tmp_path: Path, seed: int) -> None:
    """The same at length: 300 kills and 20,000 jobs over ten ledgers."""
    kill_cycles(tmp_path, cycles=30, jobs=70, seed=seed)


def test_a_killed_service_loses_no_work(tmp_path: Path) -> None:
    """A service in another process is killed amid its work: its directives come back and are done."""
    keys = [f"job-{number}" for number in range(60)]
    fast = {"LUCIUS_LOCK_SECONDS": "1"}
    with Server(tmp_path, "--services", "none", environment=fast) as server:
        server.start()
        acknowledged = submit_all(server, keys)
        ledger = Ledger(server.data)
        for goal in (20, 60, 110, STEPS * len(keys)):
            worker = subprocess.Popen([sys.executable, str(SERVICE), str(server.port)])
            try:
                await_that(lambda: ledger.succeeded_steps() >= goal, f"{goal} steps")  # noqa: B023
            finally:
                worker.send_signal(signal.SIGKILL)
                worker.wait()
        settled(server, keys, acknowledged)


def test_a_killed_client_asks_again_and_has_one_job(tmp_path: Path) -> None:
    """A client killed between its request and the answer sends the same key again: one job."""
    with Server(tmp_path, "--services", "echo") as server:
        server.start()
        for number in range(5):
            asking = [sys.executable, str(CLIENT), str(server.port), json.dumps(command(f"key-{number}"))]
            with subprocess.Popen(asking, stdout=subprocess.PIPE) as client:
                assert client.stdout is not None
                assert client.stdout.readline() == b"sent\n"
                client.kill()
        with server.calling() as caller:
            for number in range(5):
                first, again = (caller.post("/v1/orchestrate", command(f"key-{number}")) for _ in range(2))
                assert first[0] == again[0] == ACCEPTED
                assert first[1]["jobId"] == again[1]["jobId"]
        assert Ledger(server.data).count("jobs") == 5
