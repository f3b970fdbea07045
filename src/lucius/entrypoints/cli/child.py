"""A Lucius in a child process, for commands that show one at work: stopped, whatever happens."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from lucius.entrypoints.cli.addresses import free_port
from lucius.errors import Unavailable

_READY_WITHIN = 30.0
_STOP_WITHIN = 20.0


@contextlib.contextmanager
def serving(home: Path, *options: str, settings: Mapping[str, str] | None = None) -> Iterator[str]:
    """A Lucius on a free loopback port that keeps its data and its log below `home`; its address.

    `settings` are those that have no option, as `LUCIUS_…`.
    """
    port = free_port()
    url, log = f"http://127.0.0.1:{port}", home / "server.log"
    arguments = [
        "up",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--data",
        str(home / "data"),
        "--until-eof",
        *options,
    ]
    # Settings of the surrounding shell are for other servers. Work that was interrupted is not waited for;
    # temporary files lie where they are removed with everything else, also those of a killed process.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LUCIUS_")}
    environment |= {"LUCIUS_DRAIN_SECONDS": "1", "TMPDIR": str(home), **(settings or {})}
    with log.open("w+b") as written:
        child = subprocess.Popen(  # noqa: S603 - our own program with arguments made above
            [sys.executable, "-P", "-m", "lucius.entrypoints.cli", *arguments],
            stdin=subprocess.PIPE,  # never written to: it ends when this process does, however it ends
            stdout=written,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,  # Ctrl-C is for the command, which stops its child itself
        )
        try:
            await_ready(child, url, log)
            yield url
        finally:
            stop_child(child)


def await_ready(child: subprocess.Popen[bytes], url: str, log: Path) -> None:
    """Wait until the server takes jobs; raise `Unavailable` with its last words if it does not."""
    import httpx2

    until = time.monotonic() + _READY_WITHIN
    with httpx2.Client(base_url=url, timeout=1.0, trust_env=False) as http:
        while time.monotonic() < until:
            if child.poll() is not None:
                raise Unavailable(f"the server ended with {child.returncode}:\n{tail(log)}")
            with contextlib.suppress(httpx2.HTTPError):
                if http.get("/readyz").status_code == httpx2.codes.OK:
                    return
            time.sleep(0.03)
    raise Unavailable(f"the server was not ready within {_READY_WITHIN:.0f} s:\n{tail(log)}")


def tail(log: Path) -> str:
    """The last lines of a log; an empty one is a hint too."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:]
    return "\n".join(lines) or f"it could not say why; is the disk of {log.parent} full?"


def stop_child(child: subprocess.Popen[bytes]) -> None:
    """Let it drain; end it if it does not. Ctrl-C meanwhile tells it to hurry, and leaves nothing behind."""
    until = time.monotonic() + _STOP_WITHIN
    while child.returncode is None:
        try:
            child.terminate()
            child.wait(max(0.0, until - time.monotonic()))
        except KeyboardInterrupt:
            continue
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
    if child.stdin is not None:
        child.stdin.close()
