"""Any program of bus operations against a model small enough to be obviously right.

The model knows, of one subscription, which messages wait, which are lent until when, and which are
dead. It does not know the fair order: it checks that what is lent was waiting, that one tenant's
fresh messages leave in order, and that nothing appears, vanishes or is shared.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, ClassVar, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lucius.ports.bus import Bus, Delivery, Message, Settle, Settlement, Subscription

T = TypeVar("T")
TENANTS = ("a", "b", "c")


class BusMachine(RuleBasedStateMachine):
    """Bind it by overriding `new_bus`, `now` and `pass_time`; the bus must withdraw and know unread."""

    TOPICS: ClassVar[tuple[str, ...]] = ("global-bus-p0", "global-bus-p1")
    LOCK_MS: ClassVar[int] = 1000
    MAX_DELIVERIES: ClassVar[int] = 3

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.bus: Bus = self.run(self.new_bus())
        self.subscription = Subscription(name="reader", topics=self.TOPICS, subjects=("OCR",))
        self.messages: dict[str, Message] = {}
        self.waiting: list[str] = []
        """In the order in which each tenant's must leave."""
        self.lent: dict[str, tuple[str, int]] = {}
        self.lost: list[str] = []
        self.counts: dict[str, int] = {}
        self.dead: list[str] = []
        self.receive(limit=1, tenants=None)

    # --- to be bound

    async def new_bus(self) -> Bus:
        """A fresh bus with these topics, this lock and this many deliveries."""
        raise NotImplementedError

    def now(self) -> int:
        """The bus's time."""
        raise NotImplementedError

    def pass_time(self, ms: int) -> None:
        """Let the bus's time pass."""
        raise NotImplementedError

    # --- rules

    @rule(names=st.lists(st.integers(0, 12), max_size=6), topic=st.integers(0, 1))
    def publish(self, names: list[int], topic: int) -> None:
        """Publish a batch; ids repeat, so some are still there."""
        batch = []
        for number in names:
            key = f"m{number}"
            message = self.messages.setdefault(key, self.message(number, topic))
            batch.append(message)
            if key not in self.waiting and all(key != held for held, _ in self.lent.values()):
                self.waiting.append(key)
                self.counts[key] = 0
        self.run(self.bus.publish(batch))

    @rule(limit=st.integers(1, 5), tenants=st.none() | st.frozensets(st.sampled_from(TENANTS)))
    def receive(self, limit: int, tenants: frozenset[str] | None) -> None:
        """Take some: the right number, only of the right tenants, each tenant's in order."""
        got = self.run(self.bus.receive(self.subscription, limit=limit, wait=0, tenants=tenants))
        visible = [key for key in self.waiting if tenants is None or self.tenant(key) in tenants]
        assert len(got) == min(limit, len(visible))
        for delivery in got:
            self.take(delivery, visible)

    @precondition(lambda self: self.lent)
    @rule(data=st.data(), outcome=st.sampled_from(Settlement))
    def settle(self, data: st.DataObject, outcome: Settlement) -> None:
        """Settle something held."""
        token = data.draw(st.sampled_from(sorted(self.lent)))
        assert self.run(self.bus.settle([Settle(lock_token=token, outcome=outcome)])) == [True]
        key, _ = self.lent.pop(token)
        self.lost.append(token)
        if outcome is Settlement.ABANDON:
            self.give_back(key)
        elif outcome is Settlement.DEAD_LETTER:
            self.dead.append(key)

    @precondition(lambda self: self.lost)
    @rule(data=st.data(), outcome=st.sampled_from(Settlement))
    def settle_lost(self, data: st.DataObject, outcome: Settlement) -> None:
        """A lock that is gone has no say."""
        token = data.draw(st.sampled_from(self.lost))
        assert self.run(self.bus.settle([Settle(lock_token=token, outcome=outcome)])) == [False]
        assert self.run(self.bus.renew([token])) == [None]

    @precondition(lambda self: self.lent)
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        """Hold on to something."""
        token = data.draw(st.sampled_from(sorted(self.lent)))
        [until] = self.run(self.bus.renew([token]))
        assert until == self.now() + self.LOCK_MS
        key, _ = self.lent.pop(token)
        self.lent[token] = (key, until)

    @rule(ms=st.sampled_from((1, 400, 1000)))
    def wait(self, ms: int) -> None:
        """Time passes; locks that run out give their messages back, the earliest first."""
        self.pass_time(ms)
        over = [token for token, (_, until) in self.lent.items() if until <= self.now()]
        for token in over:
            key, _ = self.lent.pop(token)
            self.lost.append(token)
            self.give_back(key)

    @rule(number=st.integers(0, 12))
    def withdraw(self, number: int) -> None:
        """Take one back, wherever it is."""
        key = f"m{number}"
        self.run(self.bus.withdraw([key]))
        self.waiting = [each for each in self.waiting if each != key]
        for token in [token for token, (held, _) in self.lent.items() if held == key]:
            del self.lent[token]
            self.lost.append(token)

    @invariant()
    def counts_agree(self) -> None:
        """What waits and what is dead is what the model says."""
        assert self.run(self.bus.backlog()).get("reader", 0) == len(self.waiting)
        dead = self.run(self.bus.dead_letters(limit=10_000))
        assert [each.message.message_id for each in reversed(dead)] == self.dead

    @invariant()
    def unread_agrees(self) -> None:
        """What waits and was never lent is unread, and nothing else is."""
        keys = sorted(self.messages)
        for key, unread in zip(keys, self.run(self.bus.unread(keys)), strict=True):
            assert unread == (key in self.waiting and self.counts[key] == 0)

    def teardown(self) -> None:
        """Close the bus and its loop."""
        self.run(self.bus.close())
        self.loop.close()

    # --- the model

    def take(self, delivery: Delivery, visible: list[str]) -> None:
        """One delivery, judged by the model."""
        key = delivery.message.message_id
        first = next(each for each in visible if self.tenant(each) == self.tenant(key))
        assert key == first
        assert delivery.message == self.messages[key]
        assert delivery.locked_until == self.now() + self.LOCK_MS
        self.counts[key] += 1
        assert delivery.delivery_count == self.counts[key]
        visible.remove(key)
        self.waiting.remove(key)
        assert delivery.lock_token not in self.lent
        self.lent[delivery.lock_token] = (key, delivery.locked_until)

    def give_back(self, key: str) -> None:
        """Back in the queue, or dead."""
        (self.dead if self.counts[key] >= self.MAX_DELIVERIES else self.waiting).append(key)

    def message(self, number: int, topic: int) -> Message:
        """The message of that number."""
        return Message(
            message_id=f"m{number}",
            topic=self.TOPICS[topic],
            subject="OCR",
            tenant_id=TENANTS[number % 3],
            body=b"%d" % number,
        )

    def tenant(self, key: str) -> str:
        """Whose message it is."""
        return self.messages[key].tenant_id

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run one operation to its end."""
        return self.loop.run_until_complete(work)
