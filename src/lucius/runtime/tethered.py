"""Runs a program that ends when this process's stdin does: `python tethered.py PROGRAM ARGUMENT…`.

    this process ──fork──▶ watcher: reads stdin; at its end it kills the program
          └──exec──▶ the program, under the same process id, with nothing to read

For programs that do not watch stdin themselves. Whoever starts one holds the other end of the pipe: when
it dies, even by `kill -9`, the pipe ends. Signals and the exit code are the program's own.

How it fails: if the watcher alone is killed, the program stays until it is told to stop; if the program
ends, the watcher notices within a second. Nothing of Lucius is imported: the watcher stays small.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
from typing import NoReturn

LOOK = 1.0
"""Seconds between two looks whether the program still runs."""


def main(command: list[str]) -> NoReturn:
    """Become the program, and leave a watcher."""
    program = os.getpid()
    if os.fork() == 0:
        watch(program)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.umask(0o077)  # its files are for their owner only
    os.execvp(command[0], command)  # noqa: S606 - our caller's own words


def watch(program: int) -> NoReturn:
    """Kill the program when stdin ends. It is our parent: another parent means that it is gone."""
    try:
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(one, signal.SIG_IGN)  # those are for the program
        nothing = os.open(os.devnull, os.O_WRONLY)
        for told in (1, 2):
            os.dup2(nothing, told)
        while os.getppid() == program:
            readable, _, _ = select.select([0], [], [], LOOK)
            if readable and not os.read(0, 4096):
                break
        if os.getppid() == program:
            with contextlib.suppress(ProcessLookupError):
                os.kill(program, signal.SIGKILL)
    finally:
        os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
