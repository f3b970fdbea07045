"""Dead letters: messages that were received too often. Looked at, told, redriven; never lost.

A dead letter stays in its queue, where its depth raises the alarm, until somebody redrives or discards it.
Looking takes messages for a moment and gives them back. What is found there decides as follows:

    its run completed, was canceled, or has a newer message     a leftover: deleted
    its run is dead                                             stays, if it is the newest that is here
    its run is open and nobody holds it                         the run is marked `dead`; stays
    no such run, or unreadable                                  stays, shown with what can be read of it
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager

import msgspec

from lucius.errors import Broken, NotFound
from lucius.lifebook.core.commands import Bury
from lucius.lifebook.core.run import Envelope, Run, is_leftover, read_envelope
from lucius.lifebook.core.states import Status
from lucius.lifebook.ports.queue import MAX_BATCH, Delivery, RunQueue
from lucius.lifebook.ports.store import Created, RunStore
from lucius.lifebook.usecases.change import Changes
from lucius.lifebook.usecases.control import Control
from lucius.ports.duties import Report

LOOKING_SECONDS = 30
"""For how long messages are taken while we look; given back as soon as we have looked."""
MOST = 1_000
"""Letters that are shown or judged at once."""
MOST_SEARCHED = 20_000
"""Letters that are looked through for one."""


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """A message among the dead letters, and what is known of its run."""

    delivery: Delivery
    envelope: Envelope | None
    """None: its body cannot be read."""
    run: Run | None


class DeadLetters:
    """The queue of dead letters, for people and as a duty."""

    name = "lifebook-dead-letters"

    def __init__(
        self, dead: RunQueue, store: RunStore, changes: Changes, control: Control, *, interval: float = 30.0
    ) -> None:
        self._dead = dead
        self._store = store
        self._changes = changes
        self._control = control
        self.interval = interval

    async def list(self, limit: int = 100) -> Sequence[DeadLetter]:
        """What is there, about: a standard queue shows no order."""
        async with self._deliveries(min(limit, MOST)) as deliveries:
            return [await self._letter(delivery) for delivery in deliveries]

    async def redrive(self, job_id: str, *, user_id: str) -> Created:
        """A new run for a dead one, whose messages then leave the dead letters; raises `NotFound`."""
        run = await self._store.get(job_id)
        if run is None:
            raise NotFound(f"There is no run {job_id}.")
        created = await self._control.retry(run, user_id=user_id)
        await self.discard(job_id)
        return created

    async def discard(self, job_id: str) -> int:
        """Delete the dead letters of a run (or the message with that id); how many there were."""

        def named(delivery: Delivery) -> bool:
            envelope = read_envelope(delivery.body)
            return job_id in (delivery.message_id, envelope and envelope.job_id)

        async with self._deliveries(MOST_SEARCHED, enough=named) as deliveries:
            found = [delivery for delivery in deliveries if named(delivery)]
            for delivery in found:
                await self._dead.delete(delivery)
        return len(found)

    async def run_once(self) -> Report:
        """Judge what is there."""
        buried = cleared = 0
        async with self._deliveries(MOST) as deliveries:
            letters = [await self._letter(delivery) for delivery in deliveries]
            newest = _newest(letters)
            for letter in letters:
                run = letter.run
                number = letter.delivery.send_no
                if run is None or (
                    run.status is Status.DEAD and (number is None or number == newest[run.job_id])
                ):
                    continue
                if run.terminal or is_leftover(run, letter.delivery.send_no):
                    await self._dead.delete(letter.delivery)
                    cleared += 1
                    continue
                changed = await self._changes.apply(run.job_id, _bury(letter.delivery))
                buried += changed.acted
        return Report(duty=self.name, acted=buried + cleared, details={"buried": buried, "cleared": cleared})

    @asynccontextmanager
    async def _deliveries(
        self, limit: int, *, enough: Callable[[Delivery], bool] = lambda _: False
    ) -> AsyncIterator[Sequence[Delivery]]:
        """Up to `limit` messages, or until one is `enough`; given back at the end, but for deleted ones."""
        taken: dict[str, Delivery] = {}
        try:
            while len(taken) < limit:
                batch = await self._dead.receive(
                    min(MAX_BATCH, limit - len(taken)), wait_seconds=0, hidden_seconds=LOOKING_SECONDS
                )
                new = [delivery for delivery in batch if delivery.message_id not in taken]
                taken |= {delivery.message_id: delivery for delivery in batch}
                if not new or any(map(enough, new)):
                    break
            yield list(taken.values())
        finally:
            for delivery in taken.values():
                await self._dead.hide(delivery, 0)

    async def _letter(self, delivery: Delivery) -> DeadLetter:
        envelope = read_envelope(delivery.body)
        try:
            run = None if envelope is None else await self._store.get(envelope.job_id)
        except Broken:
            run = None  # its record cannot be read; the other letters' can
        if run is not None and envelope is not None and run.workspace_id != envelope.workspace_id:
            run = None  # it names a run that is not its own
        return DeadLetter(delivery=delivery, envelope=envelope, run=run)


def _bury(delivery: Delivery) -> Bury:
    return Bury(receives=delivery.receives, send_no=delivery.send_no)


def _newest(letters: Sequence[DeadLetter]) -> dict[str, int]:
    """Run -> the highest number among its letters: of a dead run one letter is enough."""
    newest: dict[str, int] = {}
    for letter in letters:
        if letter.run is not None:
            number = letter.delivery.send_no or 0
            newest[letter.run.job_id] = max(number, newest.get(letter.run.job_id, 0))
    return newest
