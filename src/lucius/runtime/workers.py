"""Services in processes of their own, kept alive for as long as Lucius runs.

    waiting ──open──▶ started ──ends by itself──▶ resting (0.5 s, doubled up to 30 s) ──▶ started
                         └──stop──▶ SIGTERM ──▶ ended, or killed when patience is over

Each process leads a session of its own, so that Ctrl-C at the terminal reaches Lucius alone, and so that
whatever it started itself can be ended with it. Its stdin is a pipe that nobody writes to: when Lucius
dies, even by `kill -9`, the pipe ends and so does the process. Its log lines go where ours go.

How it fails: a process that ends is started again, however often; one that will not stop is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Mapping, Sequence

import msgspec
import structlog

FIRST_REST = 0.5
LONGEST_REST = 30.0
STEADY = 60.0
"""Seconds after which a process counts as one that works: the next rest is short again."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker process runs."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str]
    stop_by: signal.Signals = signal.SIGTERM
    """How it is asked to stop; SIGKILL for what has nothing to finish."""

    def __repr__(self) -> str:
        """Without the environment, which holds a credential."""
        return f"Program({self.name})"


class Workers:
    """One process a program. `run` keeps them alive from `open` until `stop`."""

    def __init__(self, programs: Sequence[Program], *, patience: float) -> None:
        """`patience`: seconds a process may take to stop."""
        self._programs = tuple(programs)
        self._patience = patience
        self._opened = asyncio.Event()
        self._stopping = asyncio.Event()
        self._running: dict[str, Process] = {}
        self._log = structlog.get_logger("lucius.workers")

    def open(self) -> None:
        """The API answers: services may start."""
        self._opened.set()

    async def run(self) -> None:
        """Keep every process alive until told to stop; cancelled, it leaves none behind."""
        await self._opened.wait()
        async with asyncio.TaskGroup() as group:
            for program in self._programs:
                group.create_task(self._keep(program), name=f"worker {program.name}")

    def ask(self) -> None:
        """Ask all processes to stop, and start no more."""
        if self._stopping.is_set():
            return
        self._stopping.set()
        for program in self._programs:
            if program.name in self._running:
                _ask(self._running[program.name], program)

    async def stop(self) -> None:
        """Ask all processes to stop; kill those that have not when patience is over."""
        self.ask()
        waiting = list(self._running.values())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._patience):
                await asyncio.gather(*(process.wait() for process in waiting))
        self.kill()
        await asyncio.gather(*(process.wait() for process in waiting))

    def kill(self) -> None:
        """End all processes at once, and start no more."""
        self._stopping.set()
        for name, process in self._running.items():
            if process.returncode is None:
                self._log.warning("a service process did not stop and is killed", service=name)
                _end_session(process.pid)

    async def _keep(self, program: Program) -> None:
        rest = FIRST_REST
        while not self._stopping.is_set():
            began = time.monotonic()
            ended_by = await self._outlived(program)
            if self._stopping.is_set():
                return
            if time.monotonic() - began > STEADY:
                rest = FIRST_REST
            self._log.warning(
                "a service process ended; another one follows",
                service=program.name,
                ended_by=ended_by,
                seconds=rest,
            )
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(rest):
                    await self._stopping.wait()
            rest = min(rest * 2, LONGEST_REST)

    async def _outlived(self, program: Program) -> str:
        """What ended the process, in words; a machine that cannot start one now may do so later."""
        try:
            return _words(await self._live(program))
        except OSError as error:
            return f"it could not be started: {error}"

    async def _live(self, program: Program) -> int:
        """One process from its start to its end; its exit code."""
        process = await asyncio.create_subprocess_exec(
            *program.command,
            stdin=PIPE,
            stdout=DEVNULL,
            env=dict(program.environment),
            start_new_session=True,
        )
        self._running[program.name] = process
        self._log.info("a service process was started", service=program.name, worker=process.pid)
        try:
            if self._stopping.is_set():
                _ask(process, program)
            return await process.wait()
        finally:
            # Also when it ended by itself: what it had started must not outlive it.
            _end_session(process.pid)
            await process.wait()
            del self._running[program.name]


def _ask(process: Process, program: Program) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(program.stop_by)


def _end_session(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _words(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
