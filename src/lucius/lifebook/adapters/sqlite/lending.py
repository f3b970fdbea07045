"""What happens to messages, inside somebody's transaction: put, lend, settle, come back, move.

The next message comes from the workspace with the fewest messages lent, then the one served longest ago; of a
workspace, the oldest. So nobody starves, however much another has sent or how long its runs take. A message
counts as lent while its holder says so at least once in the length of the loan: one that was hidden for
longer, to be tried again some time, is put away and counts no more. Every look is an index lookup.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import apsw

from lucius.lifebook.ports.queue import Delivery, Depth

_BACK_AT_ONCE: Final = 200
"""How many overdue loans one receiver brings back; the next one goes on."""

_PUT: Final = (
    "INSERT INTO messages (message_id, queue, workspace_id, sent_at, send_no, hidden_until, body)"
    " VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_LANE: Final = (
    "INSERT INTO lanes (queue, workspace_id, ready, lent) VALUES (?1, ?2, ?3, ?4)"
    " ON CONFLICT (queue, workspace_id) DO UPDATE SET ready = ready + ?3, lent = lent + ?4"
)
_NEXT_LANE: Final = (
    "SELECT id, workspace_id FROM lanes WHERE queue = ? AND ready > 0 ORDER BY lent, turn, id LIMIT 1"
)
_NEXT: Final = (
    "SELECT id, message_id, body, receives, send_no, sent_at FROM messages"
    " WHERE queue = ? AND workspace_id = ? AND hidden_until IS NULL ORDER BY id LIMIT 1"
)
_LEND: Final = (
    "UPDATE messages SET receipt = ?, receives = receives + 1, hidden_until = ?, lent_until = ?, loan = ?"
    " WHERE id = ?"
)
_TURN: Final = (
    "UPDATE lanes SET ready = ready - 1, lent = lent + 1,"
    " turn = (SELECT coalesce(max(turn), 0) + 1 FROM lanes WHERE queue = ?) WHERE id = ?"
)
_HELD: Final = (
    "SELECT id, workspace_id, receives, hidden_until IS NULL, lent_until IS NOT NULL, loan FROM messages"
    " WHERE message_id = ? AND queue = ? AND receipt = ?"
)
_OVERDUE: Final = (
    "SELECT id, workspace_id, receives, 0, lent_until IS NOT NULL, loan FROM messages"
    " WHERE queue = ? AND hidden_until IS NOT NULL AND hidden_until <= ? ORDER BY hidden_until LIMIT ?"
)
_PUT_AWAY: Final = (
    "SELECT id, workspace_id FROM messages"
    " WHERE queue = ? AND lent_until IS NOT NULL AND lent_until <= ? LIMIT ?"
)
_ANY: Final = (
    "SELECT EXISTS (SELECT 1 FROM lanes INDEXED BY lanes_by_turn WHERE queue = ?1 AND ready > 0) OR EXISTS"
    " (SELECT 1 FROM messages WHERE queue = ?1 AND hidden_until IS NOT NULL AND hidden_until <= ?2)"
)
_DEPTH: Final = (
    "SELECT (SELECT coalesce(sum(ready), 0)"
    " FROM lanes INDEXED BY lanes_by_turn WHERE queue = ?1 AND ready > 0),"
    " (SELECT count(*) FROM messages WHERE queue = ?1 AND hidden_until IS NOT NULL AND hidden_until <= ?2),"
    " (SELECT count(*) FROM messages WHERE queue = ?1 AND hidden_until IS NOT NULL AND hidden_until > ?2)"
)


class Letter(NamedTuple):
    """A message that goes in."""

    message_id: str
    workspace_id: str
    send_no: int
    delay: int
    """Milliseconds."""
    body: bytes


class _Row(NamedTuple):
    id: int
    workspace_id: str
    receives: int
    ready: int
    lent: int
    loan: int


class Lending:
    """One queue's rows."""

    def __init__(self, name: str, *, dead: str | None, max_receives: int) -> None:
        self._name = name
        self._dead = dead
        self._max_receives = max_receives

    def put(self, connection: apsw.Connection, letter: Letter, now: int) -> None:
        """A new message, ready now or later."""
        hidden = now + letter.delay if letter.delay > 0 else None
        connection.execute(
            _PUT,
            (letter.message_id, self._name, letter.workspace_id, now, letter.send_no, hidden, letter.body),
        )
        self._count(connection, letter.workspace_id, ready=int(hidden is None))

    def lend(
        self, connection: apsw.Connection, limit: int, *, now: int, loan: int, new_id: Callable[[], str]
    ) -> list[Delivery]:
        """Up to so many messages, for `loan` milliseconds."""
        self._bring_back(connection, now)
        lent: list[Delivery] = []
        while len(lent) < limit:
            lane = connection.execute(_NEXT_LANE, (self._name,)).fetchone()
            if lane is None:
                break
            lane_id, workspace_id = lane
            [row] = connection.execute(_NEXT, (self._name, workspace_id))
            number, message_id, body, receives, send_no, sent_at = row
            receipt = new_id()
            connection.execute(_LEND, (receipt, now + loan, now + loan, loan, number))
            connection.execute(_TURN, (self._name, lane_id))
            lent.append(
                Delivery(
                    message_id=message_id,
                    receipt=receipt,
                    body=body,
                    receives=receives + 1,
                    send_no=send_no,
                    sent_at=sent_at,
                )
            )
        return lent

    def hide(self, connection: apsw.Connection, delivery: Delivery, *, now: int, time: int) -> None:
        """Whoever holds it holds it for so long from now, or gives it back."""
        row = self._held(connection, delivery)
        if row is None:
            return
        if time <= 0:
            self._give_back(connection, row)
            return
        until = min(now + row.loan, now + time)
        connection.execute(
            "UPDATE messages SET hidden_until = ?, lent_until = ? WHERE id = ?", (now + time, until, row.id)
        )
        self._count(connection, row.workspace_id, ready=-row.ready, lent=1 - row.lent)

    def delete(self, connection: apsw.Connection, delivery: Delivery) -> None:
        """Remove it, if nobody else has it by now."""
        row = self._held(connection, delivery)
        if row is not None:
            connection.execute("DELETE FROM messages WHERE id = ?", (row.id,))
            self._count(connection, row.workspace_id, ready=-row.ready, lent=-row.lent)

    def undo(self, connection: apsw.Connection, delivery: Delivery) -> None:
        """The loan never reached anybody: it does not count."""
        row = self._held(connection, delivery)
        if row is not None:
            connection.execute("UPDATE messages SET receives = receives - 1 WHERE id = ?", (row.id,))
            self._give_back(connection, row._replace(receives=row.receives - 1))

    def any(self, connection: apsw.Connection, now: int) -> bool:
        """Whether there may be something to lend."""
        [(found,)] = connection.execute(_ANY, (self._name, now))
        return bool(found)

    def depth(self, connection: apsw.Connection, now: int) -> Depth:
        """How much is there."""
        [(ready, overdue, hidden)] = connection.execute(_DEPTH, (self._name, now))
        return Depth(visible=ready + overdue, hidden=hidden)

    def _held(self, connection: apsw.Connection, delivery: Delivery) -> _Row | None:
        values = (delivery.message_id, self._name, delivery.receipt)
        row = connection.execute(_HELD, values).fetchone()
        return None if row is None else _Row(*row)

    def _bring_back(self, connection: apsw.Connection, now: int) -> None:
        bound = (self._name, now, _BACK_AT_ONCE)
        for row in [_Row(*found) for found in connection.execute(_OVERDUE, bound)]:
            # It keeps its receipt: who is late but first may still settle it.
            self._make_ready(connection, row)
        away: list[Any] = list(connection.execute(_PUT_AWAY, bound))
        for number, workspace_id in away:
            connection.execute("UPDATE messages SET lent_until = NULL WHERE id = ?", (number,))
            self._count(connection, workspace_id, lent=-1)

    def _give_back(self, connection: apsw.Connection, row: _Row) -> None:
        self._make_ready(connection, row)
        connection.execute("UPDATE messages SET receipt = NULL WHERE id = ?", (row.id,))

    def _make_ready(self, connection: apsw.Connection, row: _Row) -> None:
        """It can be lent again, here or, when it was lent too often, among the dead letters."""
        here = self._dead is None or row.receives < self._max_receives
        queue = self._name if here or self._dead is None else self._dead
        connection.execute(
            "UPDATE messages SET queue = ?, hidden_until = NULL, lent_until = NULL WHERE id = ?",
            (queue, row.id),
        )
        self._count(connection, row.workspace_id, ready=-row.ready, lent=-row.lent)
        connection.execute(_LANE, (queue, row.workspace_id, 1, 0))

    def _count(
        self, connection: apsw.Connection, workspace_id: str, *, ready: int = 0, lent: int = 0
    ) -> None:
        connection.execute(_LANE, (self._name, workspace_id, ready, lent))
