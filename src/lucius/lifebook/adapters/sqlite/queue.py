"""A queue in the file. Several processes send to it and receive from it.

A receiver that waits is woken at once by what its own process sends; what others send, and what comes back
when its time is up, it finds by looking a few times a second. A receiver that goes away while a message is on
its way to it gives the message back.

What was sent is on the disk. Loans and settlements are not waited for: after a power cut (not the end of a
process) the newest of them may be undone, and those messages come once more, as they do when a loan ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Final

import apsw
import msgspec

from lucius.errors import LuciusError
from lucius.lifebook.adapters.sqlite.file import LifebookFile
from lucius.lifebook.adapters.sqlite.lending import Lending, Letter
from lucius.lifebook.core.run import Envelope
from lucius.lifebook.ports.queue import (
    MAX_BATCH,
    MAX_DELAY_SECONDS,
    MAX_HIDDEN_SECONDS,
    MAX_RECEIVES,
    MAX_WAIT_SECONDS,
    Delivery,
    Depth,
)

LOOK_SECONDS: Final = 0.15
"""Between two looks at what other processes have sent."""


class SqliteQueue:
    """One queue; see the port."""

    def __init__(
        self,
        file: LifebookFile,
        name: str,
        *,
        dead: str | None,
        max_receives: int = MAX_RECEIVES,
        sleep: Callable[[float], Awaitable[object]],
        new_id: Callable[[], str],
    ) -> None:
        """`dead`: the queue that takes what was lent `max_receives` times; None: it stays, for ever."""
        self._file = file
        self._name = name
        self._dead = dead
        self._lending = Lending(name, dead=dead, max_receives=max_receives)
        self._sleep = sleep
        self._new_id = new_id

    async def send(self, envelope: Envelope, *, send_no: int, delay_seconds: float = 0) -> None:
        """Put a message in; it is there when this returns."""
        letter = Letter(
            message_id=self._new_id(),
            workspace_id=envelope.workspace_id,
            send_no=send_no,
            delay=_milliseconds(delay_seconds, MAX_DELAY_SECONDS),
            body=msgspec.json.encode(envelope),
        )
        await self._file.write(lambda connection: self._lending.put(connection, letter, self._file.clock()))
        self._file.ring(self._name)

    async def receive(self, limit: int, *, wait_seconds: float, hidden_seconds: float) -> Sequence[Delivery]:
        """Up to `limit` messages, hidden from others for a while; waits for the first."""
        loop = asyncio.get_running_loop()
        until = loop.time() + min(max(wait_seconds, 0), MAX_WAIT_SECONDS)
        loan = _milliseconds(hidden_seconds, MAX_HIDDEN_SECONDS)
        bell = self._file.bell(self._name)  # before the look: what comes after it rings
        found = await self._lend(limit, loan)
        while not found and (rest := until - loop.time()) > 0:
            await self._pause(bell, min(rest, LOOK_SECONDS))
            bell = self._file.bell(self._name)
            if await self._file.read(lambda connection: self._lending.any(connection, self._file.clock())):
                found = await self._lend(limit, loan)
        return found

    async def hide(self, delivery: Delivery, seconds: float) -> None:
        """Nobody else gets it for so long, from now; 0 gives it back at once."""
        time = _milliseconds(seconds, MAX_HIDDEN_SECONDS)

        def work(connection: apsw.Connection) -> None:
            self._lending.hide(connection, delivery, now=self._file.clock(), time=time)

        await self._file.write(work, durable=False)
        if time == 0:
            self._ring()

    async def delete(self, delivery: Delivery) -> None:
        """It is dealt with."""
        await self._file.write(lambda connection: self._lending.delete(connection, delivery), durable=False)

    async def depth(self) -> Depth:
        """How much is in it."""
        return await self._file.read(lambda connection: self._lending.depth(connection, self._file.clock()))

    async def close(self) -> None:
        """Nothing: the file is closed by whoever opened it."""

    async def _lend(self, limit: int, loan: int) -> list[Delivery]:
        most = min(max(limit, 1), MAX_BATCH)

        def work(connection: apsw.Connection) -> list[Delivery]:
            return self._lending.lend(
                connection, most, now=self._file.clock(), loan=loan, new_id=self._new_id
            )

        lent = asyncio.ensure_future(self._file.write(work, durable=False))
        try:
            return await asyncio.shield(lent)
        except asyncio.CancelledError:
            with suppress(LuciusError):  # then nothing was lent, or it comes back when its loan ends
                for delivery in await lent:
                    await self._undo(delivery)
            raise

    async def _undo(self, delivery: Delivery) -> None:
        await self._file.write(lambda connection: self._lending.undo(connection, delivery), durable=False)
        self._ring()

    def _ring(self) -> None:
        self._file.ring(self._name)
        if self._dead is not None:
            self._file.ring(self._dead)

    async def _pause(self, bell: asyncio.Event, seconds: float) -> None:
        """Until the bell rings, no longer than so many seconds."""
        waits = {asyncio.ensure_future(self._sleep(seconds)), asyncio.ensure_future(bell.wait())}
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()
            await asyncio.gather(*waits, return_exceptions=True)


def _milliseconds(seconds: float, most: float) -> int:
    return round(min(max(seconds, 0), most) * 1000)
