"""Any program of operations on a store of attempts against a model small enough to be obviously right."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from lucius.sdk.serving.ports import AttemptKey, Attempts, Found, Overdue

T = TypeVar("T")
KEYS = st.integers(1, 6).map(
    lambda number: AttemptKey(job_id=f"j{number // 2}", step_id="s", attempt_no=number, lease_id="l")
)
OWNERS = st.sampled_from(["a", "b", "c"])
SPANS = st.integers(0, 20)
BYTES = st.binary(max_size=3)


@dataclass(slots=True, kw_only=True)
class Known:
    """What the model knows of an attempt."""

    owner: str
    until: int
    directive: bytes
    result: bytes | None = None
    told_at: int | None = None


class AttemptsMachine(RuleBasedStateMachine):
    """Bind it by overriding `new_attempts`, and `reopen` if the store keeps anything."""

    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.now = 1_000
        self.known: dict[AttemptKey, Known] = {}
        self.attempts: Attempts = self.run(self.new_attempts())

    # --- to be bound

    async def new_attempts(self) -> Attempts:
        """An empty store."""
        raise NotImplementedError

    async def reopen(self, attempts: Attempts) -> Attempts:
        """Close the store and open what it kept."""
        return attempts

    # --- rules

    @rule(span=SPANS)
    def pass_time(self, span: int) -> None:
        """Time goes on."""
        self.now += span

    @rule(key=KEYS, owner=OWNERS, span=SPANS, directive=BYTES)
    def claim(self, key: AttemptKey, owner: str, span: int, directive: bytes) -> None:
        """Who is first has it; later ones learn how it ended."""
        until = self.now + span
        found = self.run(
            self.attempts.claim(key, owner=owner, until=until, now=self.now, directive=directive)
        )
        if key in self.known:
            assert found == Found(claimed=False, result=self.known[key].result)
        else:
            assert found == Found(claimed=True)
            self.known[key] = Known(owner=owner, until=until, directive=directive)

    @rule(keys=st.lists(KEYS, max_size=4), owner=OWNERS, span=SPANS)
    def extend(self, keys: list[AttemptKey], owner: str, span: int) -> None:
        """Owners keep what is open and their own."""
        until = self.now + span
        mine = [key in self.known and self._open(key) and self.known[key].owner == owner for key in keys]
        assert self.run(self.attempts.extend(keys, owner=owner, until=until)) == mine
        for key, kept in zip(keys, mine, strict=True):
            if kept:
                self.known[key].until = until

    @rule(key=KEYS, owner=OWNERS, result=BYTES)
    def finish(self, key: AttemptKey, owner: str, result: bytes) -> None:
        """The first result stands, whoever brings it."""
        stands = self.run(self.attempts.finish(key, owner=owner, result=result))
        if key not in self.known:
            assert stands == result
            return
        if self.known[key].result is None:
            self.known[key].result = result
        assert stands == self.known[key].result

    @rule(key=KEYS)
    def tell(self, key: AttemptKey) -> None:
        """The first time counts."""
        self.run(self.attempts.told(key, now=self.now))
        if key in self.known and self._open(key):
            self.known[key].told_at = self.now

    @rule(owner=OWNERS, span=SPANS, limit=st.integers(0, 4))
    def take_overdue(self, owner: str, span: int, limit: int) -> None:
        """As many as allowed, the longest overdue, each whole."""
        until = self.now + span
        late = {key: it.until for key, it in self.known.items() if self._open(key) and it.until <= self.now}
        taken = self.run(self.attempts.take_overdue(owner=owner, now=self.now, until=until, limit=limit))
        assert [late[each.key] for each in taken] == sorted(late.values())[:limit]
        assert len({each.key for each in taken}) == len(taken)
        for each in taken:
            known = self.known[each.key]
            assert each == Overdue(key=each.key, directive=known.directive, result=known.result)
            known.owner, known.until = owner, until

    @rule(span=st.integers(-30, 5))
    def forget(self, span: int) -> None:
        """What was told or left alone before a time is gone, and nothing else."""
        before = self.now + span
        gone = [
            key for key, it in self.known.items() if (it.until if it.told_at is None else it.told_at) < before
        ]
        assert self.run(self.attempts.forget(before=before)) == len(gone)
        for key in gone:
            del self.known[key]

    @rule()
    def start_again(self) -> None:
        """A restart changes nothing."""
        self.attempts = self.run(self.reopen(self.attempts))

    # --- the machinery

    def _open(self, key: AttemptKey) -> bool:
        return self.known[key].told_at is None

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something on the machine's loop."""
        return self.loop.run_until_complete(work)

    def teardown(self) -> None:
        """Close everything."""
        self.run(self.attempts.close())
        self.loop.close()
