"""The subscriptions of a SQLite bus, as this process knows them, and who reads them.

Any process may add one, so every transaction looks whether the set has changed (one number) and rereads it
then. One name means one thing: whoever comes with other topics or subjects is refused while somebody reads
under that name. When nobody has for the length of a lock, the newcomer's wish is the new meaning; otherwise a
file could never hear of a service's next version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import apsw
import msgspec

from lucius.errors import Invalid
from lucius.ports.bus import Subscription

if TYPE_CHECKING:
    from lucius.adapters.buses.sqlite_transaction import Transaction

Tenants = frozenset[str] | None
UNCLAIMED: Final = 0
"""The box of messages that no subscription takes yet."""
_READERS_KEPT_MS: Final = 24 * 3600 * 1000
_ROUTES_KEPT: Final = 4096
_ENCODE: Final = msgspec.json.Encoder(order="sorted").encode
_DECODER: Final = msgspec.json.Decoder(Subscription)


class Boxes:
    """Boxes by name, and the routes to them, as of one generation of the file."""

    def __init__(self) -> None:
        self._generation = -1
        self._known: dict[str, tuple[int, Subscription]] = {}
        self._routes: dict[tuple[str, str], tuple[int, ...]] = {}

    def refresh(self, connection: apsw.Connection, generation: int) -> None:
        """Reread the subscriptions if the file has others than we know."""
        if generation == self._generation:
            return
        rows = connection.execute("SELECT box, name, subscription FROM boxes ORDER BY box")
        self._known = {name: (box, _DECODER.decode(body)) for box, name, body in rows}
        self._routes = {}
        self._generation = generation

    def forget(self) -> None:
        """A transaction did not come to its end: what it taught us may be wrong."""
        self._generation = -1

    def find(self, subscription: Subscription) -> int | None:
        """The box of exactly this subscription, as far as we know."""
        box, known = self._known.get(subscription.name, (None, None))
        return box if known is subscription or known == subscription else None

    def route(self, topic: str, subject: str) -> tuple[int, ...]:
        """The boxes that take such a message."""
        found = self._routes.get((topic, subject))
        if found is None:
            if len(self._routes) >= _ROUTES_KEPT:
                self._routes.clear()
            found = tuple(box for box, each in self._known.values() if _takes(each, topic, subject))
            self._routes[topic, subject] = found
        return found

    def open(self, transaction: Transaction, subscription: Subscription) -> int:
        """The box of that subscription, made if it is new."""
        box = self.find(subscription)
        if box is not None:
            return box
        connection = transaction.connection
        box, _ = self._known.get(subscription.name, (None, None))
        if box is None:
            box = transaction.next()
        elif _is_read(transaction, box):
            raise Invalid(
                f"Subscription {subscription.name!r} is read with other topics or subjects; use another name",
                code="SUBSCRIPTION_DIFFERS",
            )
        connection.execute(
            "INSERT INTO boxes VALUES (?1, ?2, ?3) ON CONFLICT (box) DO UPDATE SET subscription = ?3",
            (box, subscription.name, _ENCODE(subscription)),
        )
        transaction.generation += 1
        self.refresh(connection, transaction.generation)
        _claim(transaction, box, subscription)
        return box


def tenants_key(tenants: Tenants) -> str:
    """How the file names a reader by what it may see; everything is the empty name."""
    return "" if tenants is None else _ENCODE(sorted(tenants)).decode()


def mark(transaction: Transaction, box: int, tenants: Tenants) -> None:
    """Somebody who may see these tenants reads here."""
    transaction.dirty = True
    transaction.connection.execute(
        "INSERT INTO readers VALUES (?, ?, ?) "
        "ON CONFLICT (box, tenants) DO UPDATE SET asked_at = excluded.asked_at",
        (box, tenants_key(tenants), transaction.now),
    )
    transaction.connection.execute(
        "DELETE FROM readers WHERE asked_at < ?", (transaction.now - _READERS_KEPT_MS,)
    )


def _is_read(transaction: Transaction, box: int) -> bool:
    since = transaction.now - transaction.limits.lock
    return bool(transaction.rows("SELECT 1 FROM readers WHERE box = ? AND asked_at >= ? LIMIT 1", box, since))


def _claim(transaction: Transaction, box: int, subscription: Subscription) -> None:
    """What waited for a subscription like this one goes to it, in the order it came."""
    connection = transaction.connection
    rows = transaction.rows(
        "SELECT id, tenant, topic, subject FROM parcels WHERE box = ? ORDER BY id", UNCLAIMED
    )
    for parcel, tenant, topic, subject in rows:
        if _takes(subscription, topic, subject):
            connection.execute("UPDATE OR IGNORE parcels SET box = ? WHERE id = ?", (box, parcel))
            if connection.changes():
                transaction.join(box, tenant, 1)


def _takes(subscription: Subscription, topic: str, subject: str) -> bool:
    return topic in subscription.topics and (not subscription.subjects or subject in subscription.subjects)
