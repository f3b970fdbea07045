"""What is asked of a shared ledger, from the asking to the answer.

    queued -> (turn, BEGIN IMMEDIATE) -> judged, staged -> (COMMIT) -> durable, answered
       |                                    |                 |
       waited too long: LEDGER_BUSY,        raised: its       failed: the ledger stops,
       nothing judged                       caller alone      as the exclusive one does

What stands in brackets waits, and is the thread's (`shared_turns`); the rest runs on the event loop.
"""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw

from lucius.adapters.ledgers.sqlite.batch import Batch
from lucius.adapters.ledgers.sqlite.shared_turns import BUSY, Turns, busy
from lucius.adapters.ledgers.sqlite.writer import unwritten
from lucius.errors import Unavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lucius.adapters.ledgers.sqlite.shared_desk import Desk
    from lucius.adapters.ledgers.sqlite.shared_opening import Joined
    from lucius.ports.ledger import Listener

    Decide = Callable[[Batch], Any]

#: Seconds that a change nobody waits for may wait for company.
PATIENCE = 0.005
#: Turns of the event loop that a batch waits for company: one commit sets free what the next one writes.
QUIET_TURNS = 3
MAX_TURNS = 12
#: What one transaction decides at most: other processes wait for it.
MAX_BATCH = 500


class _Asked(NamedTuple):
    future: asyncio.Future[Any]
    decide: Decide
    since: float


class Queue:
    """What is asked, decided, committed and answered in this process."""

    def __init__(
        self,
        joined: Joined,
        desk: Desk,
        *,
        bound: float,
        on_failure: Callable[[BaseException], None] | None,
        observe: Callable[[float], None] | None,
    ) -> None:
        self.failure: BaseException | None = None
        self.listeners: list[Listener] = []
        self.foreign: list[Callable[[], None]] = []
        self._connection = joined.connection
        self._desk = desk
        self._bound = bound
        self._on_failure = on_failure
        self._observe = observe
        self._loop = asyncio.get_running_loop()
        self._turns = Turns(joined.turn, joined.connection, self._loop, bound=bound)
        self._asked: deque[_Asked] = deque()
        self._writing: Batch | None = None
        self._lent = False  # the connection is the thread's, or in a transaction
        self._waiting: float | None = None  # since when for a turn
        self._started = 0.0
        self._scheduled = False
        self._hurry = False
        self._later: asyncio.TimerHandle | None = None
        self._limit: asyncio.TimerHandle | None = None
        self._closing = False
        self._idle = asyncio.Event()
        self._idle.set()
        self.look()

    @property
    def open(self) -> bool:
        """Whether anything may still be asked."""
        return self.failure is None and not self._closing

    def ask(self, decide: Decide, *, patient: bool = False) -> asyncio.Future[Any]:
        """A future that is done when what `decide` adds to its batch is durable."""
        if self.failure is not None:
            raise Unavailable(f"the ledger has stopped: {self.failure}", code="LEDGER_FAILED")
        if self._closing:
            raise Unavailable("the ledger is closed", code="LEDGER_CLOSED")
        asked = _Asked(self._loop.create_future(), decide, self._loop.time())
        self._asked.append(asked)
        self._idle.clear()
        self._mind_the_limit()
        if not patient:
            self._hurry = True
            self._flush_soon()
        elif self._later is None:
            self._later = self._loop.call_later(PATIENCE, self._flush)
        return asked.future

    def look(self) -> None:
        """Whether others have committed; if so, say it. Another time while the connection is busy."""
        if not self._lent:
            with suppress(apsw.BusyError):
                self._see()

    async def close(self) -> None:
        """Take nothing more, write what was taken."""
        self._closing = True
        await self._idle.wait()
        self._turns.close()

    # -- towards a transaction ---------------------------------------------------------------------

    def _flush_soon(self) -> None:
        if not self._scheduled and not self._lent:
            self._scheduled = True
            self._loop.call_soon(self._gather, len(self._asked), 0, MAX_TURNS)

    def _gather(self, seen: int, quiet: int, turns: int) -> None:
        """Let what is on its way join: flush when the loop has brought nothing new for some turns."""
        now = len(self._asked)
        quiet = quiet + 1 if now == seen else 0
        if quiet < QUIET_TURNS and turns:
            self._loop.call_soon(self._gather, now, quiet, turns - 1)
        else:
            self._scheduled = False
            self._flush()

    def _flush(self) -> None:
        """Begin a transaction, now or when it is our turn."""
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if self._lent:
            self._hurry = True
            return
        if not self._asked:
            return
        self._lent = True
        if self._turns.take():
            self._begun(None)
        else:
            self._waiting = self._loop.time()
            self._turns.wait(self._begun)
            self._mind_the_limit()

    def _mind_the_limit(self) -> None:
        if self._waiting is not None and self._limit is None and self._asked:
            since = max(self._asked[0].since, self._waiting)
            self._limit = self._loop.call_at(since + self._bound, self._tire)

    def _tire(self) -> None:
        """Who has waited for too long hears so; the thread keeps its place for those who come."""
        self._limit = None
        late = self._loop.time() - self._bound
        while self._asked and self._asked[0].since <= late:
            _refuse([self._asked.popleft().future], busy())
        self._mind_the_limit()
        self._rest()

    # -- inside it ---------------------------------------------------------------------------------

    def _begun(self, failure: Unavailable | None) -> None:
        self._waiting = None
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
        asked = [self._asked.popleft() for _ in range(min(MAX_BATCH, len(self._asked)))]
        self._writing = batch = Batch()
        if failure is not None:
            batch.waiting = [(each.future, None) for each in asked]
            self._ended(failure)
            return
        self._started = self._loop.time()
        try:
            self._see()
            self._decide(batch, asked)
            statements = batch.statements()
        except Exception as error:  # noqa: BLE001 - nothing was written; waiting for ever would be worse
            batch.waiting = [(each.future, None) for each in asked]
            self._turns.give_up()
            self._ended(unwritten(error))
            return
        if not statements:
            self._turns.give_up()
            self._ended(None)
        elif (failure := self._turns.stage(statements)) is not None:
            self._ended(failure)
        else:
            self._turns.commit(self._ended)

    def _see(self) -> None:
        if self._desk.see(self._connection.pragma("data_version")):
            for listener in self.foreign:
                self._loop.call_soon(listener)

    def _decide(self, batch: Batch, asked: Iterable[_Asked]) -> None:
        for each in asked:
            try:
                value = each.decide(batch)
            except apsw.Error:
                raise  # not the judge's: the file cannot be read
            except Exception as error:  # noqa: BLE001 - a judge that raises fails its own caller alone
                _refuse([each.future], error)
            else:
                batch.waiting.append((each.future, value))

    # -- after it ----------------------------------------------------------------------------------

    def _ended(self, failure: Unavailable | None) -> None:
        batch, self._writing, self._lent = self._writing, None, False
        if batch is None:
            return
        if failure is None:
            self._committed(batch)
            return
        self._desk.forget()
        waiting = [future for future, _ in batch.waiting]
        if failure.code == BUSY:
            _refuse(waiting, failure)
            self._go_on()
            return
        self.failure = failure
        _refuse([*waiting, *(each.future for each in self._asked)], failure)
        self._asked.clear()
        self._rest()
        if self._on_failure is not None:
            self._on_failure(failure)

    def _committed(self, batch: Batch) -> None:
        self._desk.settle(batch)
        try:
            if batch.changes:
                if self._observe is not None:
                    self._observe(self._loop.time() - self._started)
                for listener in self.listeners:
                    listener(batch.changes)
        finally:  # what is durable is answered, whatever a listener makes of it
            for future, value in batch.waiting:
                if not future.done():
                    future.set_result(value)
            self._go_on()

    def _go_on(self) -> None:
        if self._asked and (self._hurry or self._later is None):
            self._flush_soon()
        self._hurry = False
        self._rest()

    def _rest(self) -> None:
        if not self._asked and self._writing is None:
            self._idle.set()


def _refuse(futures: Iterable[asyncio.Future[Any]], error: Exception) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(error)
            future.exception()  # a caller that has gone away needs no warning
