"""The way to Lucius and the store, as a service process meets them on a bad day.

Both tell the watch what passes. What they do to a call: make it wait, refuse it, or do it and lose the
answer. Of a process that is dead nothing passes any more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from lucius.core.routing import topics
from lucius.errors import Unavailable
from lucius.ports.bus import Settle, Settlement, Subscription
from lucius.sdk.attempts.sqlite import SqliteAttempts
from lucius.sdk.serving.attempt import key_of
from lucius.sdk.serving.ports import AttemptKey, Found, Heard, Lent, Overdue
from lucius.sdk.transports.bus import message_of
from lucius.testing.simulation.life import GoneError
from lucius.testing.simulation.loop import nap
from lucius.wire.messages import DirectiveMessage, decode_directive
from lucius.wire.replies import command_of
from tests.serving.fault_plan import STEP_TYPE

if TYPE_CHECKING:
    from lucius.testing.simulation.life import Life
    from tests.serving.fault_process import Process
    from tests.serving.fault_watch import Reply

T = TypeVar("T")
READER = Subscription(name=f"service.{STEP_TYPE}", topics=topics(), subjects=(STEP_TYPE,))
AWAY = "away, says the schedule"


class FaultyTransport:
    """A `Transport` to whichever Lucius is up."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._world = process.world
        self._plan = process.world.plan
        self._watch = process.world.promises
        self._memory = process.memory

    async def receive(self, step_types: Sequence[str], *, limit: int, wait: float) -> list[Lent]:
        """Take directives; what was lent to a receiver that is gone comes back when its lock runs out."""
        del step_types
        await self._process.living()
        self._watch.taking(self._memory, limit, self._plan)
        until = self._world.loop.time() + wait
        while True:
            life = await self._life()
            found = [
                Lent(body=one.message.body, lock_token=f"{life.number}:{one.lock_token}", delivery_count=1)
                for one in life.context.run(_at_once, life.bus.receive(READER, limit=limit, wait=0))
            ]
            if found or self._world.loop.time() >= until:
                break
            await nap(0.1)
        for lent in found:
            self._memory.tokens[lent.lock_token] = key_of(decode_directive(lent.body))
        await self._delay(found)
        if found and self._faulty(self._memory.tokens[found[0].lock_token]):
            raise Unavailable(AWAY)
        return found

    async def _delay(self, found: list[Lent]) -> None:
        try:
            await nap(self._plan.latency())
        except asyncio.CancelledError:  # nobody waits any more: give it all back, as transports do
            if found and not self._process.dead and self._world.life is not None:
                await self._settle([lent.lock_token for lent in found], Settlement.ABANDON)
            raise

    async def complete(self, lock_tokens: Sequence[str]) -> None:
        """Done with these."""
        await self._process.living()
        self._watch.settling(self._memory, lock_tokens)
        await self._settle(lock_tokens, Settlement.COMPLETE)

    async def abandon(self, lock_tokens: Sequence[str]) -> None:
        """Give these back."""
        await self._process.living()
        await self._settle(lock_tokens, Settlement.ABANDON)

    async def refuse(self, lock_token: str, reason: str) -> None:
        """Put one aside."""
        await self._process.living()
        self._watch.refusing(self._memory, reason)
        await self._settle([lock_token], Settlement.DEAD_LETTER)

    async def renew(self, lock_tokens: Sequence[str]) -> list[bool]:
        """No lock is kept longer."""
        return [False for _ in lock_tokens]

    async def reply(self, directive: DirectiveMessage, reply: Reply) -> Heard:
        """Tell Lucius: it may be away, hear it late, or hear it and not be heard."""
        await self._process.living()
        key = key_of(directive)
        self._watch.replying(self._memory, key, reply)
        life = await self._life()
        await nap(self._plan.latency())
        if self._plan.chance(self._plan.link_faults / 2):
            raise Unavailable(AWAY)
        heard = await self._heard(life, directive, reply)
        if self._plan.chance(self._plan.link_faults / 2):
            raise Unavailable("it was taken, and the answer was lost")
        self._watch.answered(self._memory, key, reply, heard)
        return heard

    async def close(self) -> None:
        """Nothing to let go of."""

    async def _heard(self, life: Life, directive: DirectiveMessage, reply: Reply) -> Heard:
        if self._plan.by_bus:
            await _asked(life.call(lambda _: life.bus.publish([message_of(directive, reply)])))
            return Heard()
        answer = await _asked(
            life.call(lambda engine: engine.report(reply.tenant_id, reply.job_id, command_of(reply)))
        )
        step = answer.job.step(reply.step_id) if answer.job is not None else None
        attempt = step.attempt if step is not None else None
        return Heard(
            verdict=answer.verdict.value,
            lease_expires_at=attempt.lease_expires_at if attempt is not None else None,
            cancel_requested=answer.job is not None and answer.job.cancel_requested_at is not None,
        )

    async def _life(self) -> Life:
        if self._world.life is None:
            await nap(0.05)
        if (life := self._world.life) is None:
            raise Unavailable(AWAY)
        return life

    async def _settle(self, lock_tokens: Sequence[str], outcome: Settlement) -> None:
        life = await self._life()
        if self._plan.chance(self._plan.link_faults / 2):
            raise Unavailable(AWAY)
        mine = [token.partition(":") for token in lock_tokens]
        settlements = [
            Settle(lock_token=token, outcome=outcome)
            for number, _, token in mine
            if number == str(life.number)
        ]
        await _asked(life.call(lambda _: life.bus.settle(settlements)))

    def _faulty(self, key: AttemptKey) -> bool:
        return self._plan.fault(key.job_id, key.step_id, self._plan.link_faults)


class FaultyAttempts:
    """An `Attempts` whose calls fail before or after they were done."""

    def __init__(self, process: Process, store: SqliteAttempts) -> None:
        self._process = process
        self._world = process.world
        self._plan = process.world.plan
        self._watch = process.world.promises
        self._memory = process.memory
        self._store = store

    async def claim(self, key: AttemptKey, *, owner: str, until: int, now: int, directive: bytes) -> Found:
        """Begin an attempt."""
        found = await self._call(
            lambda: self._store.claim(key, owner=owner, until=until, now=now, directive=directive), key
        )
        if found.claimed:
            self._memory.won.add(key)
            self._watch.owned(self._memory, key)
        return found

    async def extend(self, keys: Sequence[AttemptKey], *, owner: str, until: int) -> list[bool]:
        """Say that the owner is alive."""
        return await self._call(lambda: self._store.extend(keys, owner=owner, until=until), *keys)

    async def finish(self, key: AttemptKey, *, owner: str, result: bytes) -> bytes:
        """Store the RESULT."""
        return await self._call(lambda: self._store.finish(key, owner=owner, result=result))

    async def told(self, key: AttemptKey, *, now: int) -> None:
        """Lucius has heard it."""
        await self._process.living()
        self._watch.closing(self._memory, key)
        await self._call(lambda: self._store.told(key, now=now))

    async def take_overdue(self, *, owner: str, now: int, until: int, limit: int) -> list[Overdue]:
        """Take over what is overdue."""
        found = await self._call(
            lambda: self._store.take_overdue(owner=owner, now=now, until=until, limit=limit)
        )
        for one in found:
            self._watch.owned(self._memory, one.key)
        return found

    async def forget(self, *, before: int) -> int:
        """Drop old ones."""
        return await self._call(lambda: self._store.forget(before=before))

    async def close(self) -> None:
        """Left to the process."""

    async def _call(self, work: Callable[[], Awaitable[T]], *keys: AttemptKey) -> T:
        await self._process.living()
        if self._refused(keys):
            raise Unavailable(AWAY)
        done = await work()
        if self._refused(keys):
            raise Unavailable("it was done, and the answer was lost")
        return done

    def _refused(self, keys: Sequence[AttemptKey]) -> bool:
        plan = self._plan
        away = plan.store_away(self._world.loop.time())
        refused = away or (
            plan.chance(plan.store_faults / 2)
            and all(plan.fault(key.job_id, key.step_id, 1.0) for key in keys)
        )
        self._memory.well = self._memory.well and not refused
        self._memory.robbed = self._memory.robbed or (refused and self._memory.stopping)
        return refused


async def _asked(call: Coroutine[Any, Any, T]) -> T:
    try:
        return await call
    except GoneError:
        raise Unavailable("no answer came") from None


def _at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine that waits for nothing returns."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        done: T = end.value
        return done
    raise AssertionError("it waits")
