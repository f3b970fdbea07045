"""From the start of a service process to its first request for work, against bare interpreters."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from bench.figures import Figure, Run, compared
from bench.processes import clean_environment

PART = "starting"
TIMES = 7
WITHIN = 60.0


def measure(run: Run) -> list[Figure]:
    """All three in turn; the first round only fills the caches."""
    services: list[float] = []
    nothing: list[float] = []
    imports: list[float] = []
    for turn in range(TIMES + 1):
        run.tell(f"round {turn} of {TIMES}")
        found = first_receive(run.home), _run("pass"), _run("import httpx2")
        if turn:
            for samples, one in zip((services, nothing, imports), found, strict=True):
                samples.append(one)
    name = "lucius service, until it asks for work"
    return [
        compared(PART, name, "ms", services, baseline="python -c pass", against=nothing),
        compared(PART, name, "ms", services, baseline="import httpx2", against=imports),
    ]


def first_receive(home: Path) -> float:
    """Milliseconds until somebody who plays Lucius is asked for directives."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(WITHIN)
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        command = [sys.executable, "-m", "lucius.entrypoints.cli", "service", "bench.worker:nothing"]
        began = time.perf_counter()
        process = subprocess.Popen(
            [*command, "--url", url, "--store", str(home / "attempts.db")],
            stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=clean_environment(),
        )  # fmt: skip
        try:
            wire, _ = listener.accept()
            with wire:
                wire.settimeout(WITHIN)
                asked = wire.recv(4096)
                seconds = time.perf_counter() - began
        finally:
            process.kill()
            process.wait()
    if b"/v1/directives:receive" not in asked:
        message = f"the service asked for something else first: {asked[:80]!r}"
        raise RuntimeError(message)
    return 1000 * seconds


def _run(program: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True, env=dict(os.environ))
    return 1000 * (time.perf_counter() - began)
