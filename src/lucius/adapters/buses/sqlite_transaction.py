"""One transaction on the file of the SQLite bus: what every operation in it shares.

It reads the state row once and writes it once. Whoever begins takes back the locks that have run out, so no
operation ever sees one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import apsw

from lucius.adapters.buses.sqlite_boxes import Boxes

_TOO_OFTEN: Final = "delivered too often"

_BURY: Final = """
INSERT INTO dead (
    id, subscription, reason, dead_at, deliveries, message_id, topic, subject, tenant, properties, body)
SELECT ?, coalesce((SELECT name FROM boxes WHERE box = parcels.box), ''), ?, ?, deliveries, message_id, topic,
    subject, tenant, properties, body
FROM parcels WHERE id = ?
"""
_FORGET_DEAD: Final = "DELETE FROM dead WHERE id <= (SELECT id FROM dead ORDER BY id DESC LIMIT 1 OFFSET ?)"
_JOIN_LANE: Final = """
INSERT INTO lanes VALUES (?, ?, ?, ?)
ON CONFLICT (box, tenant) DO UPDATE SET waiting = waiting + excluded.waiting
"""


class Limits:
    """The bounds of one bus."""

    __slots__ = ("dead_letters", "deliveries", "lock", "messages")

    def __init__(self, *, lock: int, deliveries: int, messages: int, dead_letters: int) -> None:
        self.lock = lock
        self.deliveries = deliveries
        self.messages = messages
        self.dead_letters = dead_letters


class Transaction:
    """The file between BEGIN and COMMIT."""

    __slots__ = ("_begun", "boxes", "connection", "counter", "dirty", "generation", "held", "limits", "now")

    def __init__(
        self, connection: apsw.Connection, boxes: Boxes, limits: Limits, clock: Callable[[], int]
    ) -> None:
        self.connection = connection
        self.boxes = boxes
        self.limits = limits
        self.now = clock()
        self.dirty = False
        [state] = self.rows("SELECT counter, held, generation FROM state")
        self._begun = state
        self.counter: int = state[0]
        self.held: int = state[1]
        self.generation: int = state[2]
        boxes.refresh(connection, self.generation)
        self._sweep()

    def rows(self, sql: str, *values: object) -> list[Any]:
        """All that a statement answers."""
        return self.connection.execute(sql, values).fetchall()

    def next(self) -> int:
        """A number higher than any given out before."""
        self.counter += 1
        self.dirty = True
        return self.counter

    def finish(self) -> None:
        """Write the state row, if it moved."""
        state = (self.counter, self.held, self.generation)
        if state != self._begun:
            self.dirty = True
            self.connection.execute("UPDATE state SET counter = ?, held = ?, generation = ?", state)

    def join(self, box: int, tenant: str, count: int) -> None:
        """So many more of a tenant wait in a box; a tenant that comes anew stands at the end of the ring."""
        self.connection.execute(_JOIN_LANE, (box, tenant, self.next(), count))

    def leave(self, box: int, tenant: str, count: int) -> None:
        """So many fewer wait."""
        self.dirty = True
        self.connection.execute(
            "UPDATE lanes SET waiting = waiting - ? WHERE box = ? AND tenant = ?", (count, box, tenant)
        )
        self.connection.execute(
            "DELETE FROM lanes WHERE box = ? AND tenant = ? AND waiting <= 0", (box, tenant)
        )

    def give_back(self, parcel: int, box: int, tenant: str, deliveries: int, reason: str) -> None:
        """What was lent waits again, behind its equals; or it is dead."""
        if deliveries >= self.limits.deliveries:
            self.bury(parcel, f"{_TOO_OFTEN} ({reason})" if reason else _TOO_OFTEN)
            return
        self.connection.execute(
            "UPDATE parcels SET token = NULL, locked_until = NULL, place = ? WHERE id = ?",
            (self.next(), parcel),
        )
        self.join(box, tenant, 1)

    def bury(self, parcel: int, reason: str) -> None:
        """Make something lent a dead letter; the oldest ones make room."""
        self.connection.execute(_BURY, (self.next(), reason, self.now, parcel))
        self.connection.execute(_FORGET_DEAD, (self.limits.dead_letters,))
        self.connection.execute("DELETE FROM parcels WHERE id = ?", (parcel,))
        self.held -= 1

    def _sweep(self) -> None:
        over = self.rows(
            "SELECT id, box, tenant, deliveries FROM parcels "
            "WHERE token IS NOT NULL AND locked_until <= ? ORDER BY locked_until, place",
            self.now,
        )
        for parcel, box, tenant, deliveries in over:
            self.give_back(parcel, box, tenant, deliveries, "lock lost")
