"""The service under test, as a process: started, asked to end, killed, started again.

    Command   the kit starts it, so it sees exit codes and can start it again
    Pid       somebody else started it: it can be ended, and must be started again by its owner
    Nobody    it only talks to us; what needs a process is not judged

How it fails: `NotJudged` for what a subject cannot do; `Failed` when the program cannot be started.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from lucius.conformance.findings import Failed, NotJudged

_LAST_WORDS = 2_000
_NO_PROCESS = "give a COMMAND behind `--`, so that the kit can end and restart the service"


class Subject(Protocol):
    """The service's process, as far as it is known."""

    async def start(self) -> None:
        """Start it, if it does not run."""
        ...

    async def restart(self) -> None:
        """End it whatever it does, and start it again."""
        ...

    async def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        ...

    def terminate(self) -> None:
        """SIGTERM."""
        ...

    async def ended(self, within: float) -> int | str:
        """Wait for the end: its exit code, or a word where that is not known; `TimeoutError`."""
        ...

    def died(self) -> str | None:
        """That it ended although nobody asked it to, if so."""
        ...

    async def stop(self) -> None:
        """The run is over: let nothing of it live on."""
        ...

    def last_words(self) -> str:
        """The end of what it printed, if that is known."""
        ...


class Command:
    """A program that the kit starts itself."""

    def __init__(
        self, words: Sequence[str], environment: Mapping[str, str], log: Path, on_end: Callable[[], None]
    ) -> None:
        """`on_end` is called whenever a process of it has ended."""
        self._words = words
        self._environment = environment
        self._log = log
        self._on_end = on_end
        self._process: asyncio.subprocess.Process | None = None
        self._watch: asyncio.Task[None] | None = None
        self._asked = False

    async def start(self) -> None:
        """Start it, if it does not run."""
        if self._process is not None and self._process.returncode is None:
            return
        with self._log.open("ab") as log:
            try:
                self._process = await asyncio.create_subprocess_exec(
                    *self._words, stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
                    env={**os.environ, **self._environment}, start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise Failed(f"{self._words[0]} cannot be started: {error.strerror}.") from error
        self._asked = False
        self._watch = asyncio.create_task(self._watched(self._process))

    async def _watched(self, process: asyncio.subprocess.Process) -> None:
        await process.wait()
        self._on_end()

    async def restart(self) -> None:
        """End it whatever it does, and start it again."""
        await self.kill()
        await self.start()

    async def kill(self) -> None:
        """SIGKILL to it and to what it started."""
        if self._process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        await self._process.wait()
        if self._watch is not None:
            await self._watch
        self._process = None

    def terminate(self) -> None:
        """SIGTERM, as an orchestrator of containers sends it."""
        if self._process is not None:
            self._asked = True
            with contextlib.suppress(ProcessLookupError):
                self._process.terminate()

    async def ended(self, within: float) -> int | str:
        """Its exit code."""
        if self._process is None:
            return 0
        async with asyncio.timeout(within):
            return await self._process.wait()

    def died(self) -> str | None:
        """How it ended, if it did."""
        code = self._process.returncode if self._process is not None else None
        if code is None or self._asked:
            return None
        words = self.last_words().strip().rpartition("\n")[2][:200]
        return f"the service ended by itself with exit code {code}" + (f" ({words})" if words else "")

    async def stop(self) -> None:
        """Nothing of it lives on."""
        await self.kill()

    def last_words(self) -> str:
        """The end of what it printed."""
        with contextlib.suppress(OSError):
            return self._log.read_bytes()[-_LAST_WORDS:].decode("utf-8", "replace")
        return ""


class Pid:
    """A process of somebody else, by number or by a file that holds the number."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._gone: set[int] = set()
        self._last = 0

    async def start(self) -> None:
        """Its owner starts it."""

    async def restart(self) -> None:
        """Its owner does that; a fault may show in the next case too."""

    async def kill(self) -> None:
        """SIGKILL."""
        self._send(signal.SIGKILL)
        await self.ended(10.0)

    def terminate(self) -> None:
        """SIGTERM."""
        self._send(signal.SIGTERM)

    async def ended(self, within: float) -> int | str:
        """Whether it is gone; the exit code is its parent's to know."""
        async with asyncio.timeout(within):
            pause = asyncio.Event()
            while _lives(self._last):
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(pause.wait(), 0.05)
        return "its exit code is not known to the kit"

    def died(self) -> str | None:
        """Not known."""
        return None

    async def stop(self) -> None:
        """It is not ours to end."""

    def last_words(self) -> str:
        """Not known."""
        return ""

    def _send(self, number: signal.Signals) -> None:
        found = self._number()
        if found in self._gone or not _lives(found):
            raise NotJudged(
                f"process {found} is gone; name a file that holds the new number, or {_NO_PROCESS}"
            )
        self._gone.add(found)
        self._last = found
        os.kill(found, number)

    def _number(self) -> int:
        if self._place.isdigit():
            return int(self._place)
        try:
            return int(Path(self._place).read_text(encoding="ascii").strip())
        except (OSError, ValueError) as error:
            raise NotJudged(f"{self._place} holds no process number") from error


class Nobody:
    """A service that somebody else runs and nobody may end."""

    async def start(self) -> None:
        """Its owner starts it."""

    async def restart(self) -> None:
        """Its owner does that."""

    async def kill(self) -> None:
        """Not possible."""
        raise NotJudged(_NO_PROCESS)

    def terminate(self) -> None:
        """Not possible."""
        raise NotJudged(_NO_PROCESS)

    async def ended(self, within: float) -> int | str:  # noqa: ARG002 - nothing to wait for
        """Not possible."""
        raise NotJudged(_NO_PROCESS)

    def died(self) -> str | None:
        """Not known."""
        return None

    async def stop(self) -> None:
        """It is not ours to end."""

    def last_words(self) -> str:
        """Not known."""
        return ""


def _lives(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    with contextlib.suppress(OSError):  # where there is /proc: dead, but its parent has not looked yet
        return Path(f"/proc/{number}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    return True
