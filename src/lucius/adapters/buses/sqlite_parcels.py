"""What can be done with messages in a transaction of the SQLite bus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from lucius.adapters.buses.mailbox import priority_of
from lucius.adapters.buses.sqlite_boxes import UNCLAIMED, Tenants
from lucius.adapters.buses.sqlite_transaction import Transaction
from lucius.errors import Unavailable
from lucius.ports.bus import Delivery, Message, Settle, Settlement

_LARGEST: Final = 1 << 62
_DIGITS: Final = 18
_PUT: Final = """
INSERT INTO parcels (id, box, message_id, tenant, priority, place, topic, subject, properties, body)
VALUES (?1, ?2, ?3, ?4, ?5, ?1, ?6, ?7, ?8, ?9) ON CONFLICT (message_id, box) DO NOTHING
"""
_FIRST: Final = """
SELECT id, deliveries, message_id, topic, subject, tenant, body, properties FROM parcels
WHERE box = ? AND tenant = ? AND token IS NULL ORDER BY priority DESC, place LIMIT ?
"""
_LEND: Final = """
UPDATE parcels SET token = ?, locked_until = ?, place = ?, deliveries = deliveries + 1 WHERE id = ?
"""
_UNLEND: Final = """
UPDATE parcels SET token = NULL, locked_until = NULL, deliveries = deliveries - 1, place = coalesce(
    (SELECT min(w.place) - 1 FROM parcels w WHERE w.token IS NULL AND w.box = parcels.box
        AND w.tenant = parcels.tenant AND w.priority = parcels.priority), place)
WHERE id = ? AND token = ? RETURNING box, tenant
"""


def put(transaction: Transaction, messages: Sequence[Message]) -> None:
    """Take these in, each into every box that takes it; what a box already has is left as it is."""
    route = transaction.boxes.route
    targets = [route(message.topic, message.subject) or (UNCLAIMED,) for message in messages]
    needed = sum(map(len, targets))
    if transaction.held + needed > transaction.limits.messages:
        raise Unavailable(
            f"The bus holds {transaction.held} unsettled messages and {needed} more do not fit; "
            "try again later",
            code="BUS_FULL",
        )
    connection = transaction.connection
    added: dict[tuple[int, str], int] = {}
    for message, boxes in zip(messages, targets, strict=True):
        row = _row(message)
        for box in boxes:
            connection.execute(_PUT, (transaction.counter + 1, box, *row))
            if connection.changes():
                transaction.next()
                transaction.held += 1
                added[box, message.tenant_id] = added.get((box, message.tenant_id), 0) + 1
    for (box, tenant), count in added.items():
        if box != UNCLAIMED:
            transaction.join(box, tenant, count)


def lend(
    transaction: Transaction, box: int, limit: int, tenants: Tenants, new_token: Callable[[], str]
) -> list[Delivery]:
    """Lock up to `limit` messages: round and round between tenants, each tenant's best first."""
    lanes = _lanes(transaction, box, limit, tenants)
    turns = _turns(lanes, limit)
    if not turns:
        return []
    connection, until = transaction.connection, transaction.now + transaction.limits.lock
    shares = Counter(turns)
    found = {tenant: iter(transaction.rows(_FIRST, box, tenant, share)) for tenant, share in shares.items()}
    deliveries, locks = [], []
    for tenant in turns:
        parcel, count, *rest = next(found[tenant])
        token = new_token()
        locks.append((token, until, transaction.next(), parcel))
        deliveries.append(
            Delivery(
                message=message_of(rest),
                lock_token=f"{parcel}.{token}",
                locked_until=until,
                delivery_count=count + 1,
            )
        )
    connection.executemany(_LEND, locks)
    for tenant in reversed(dict.fromkeys(reversed(turns))):  # whoever was served last stands last
        _move_on(transaction, box, tenant, left=lanes[tenant] - shares[tenant])
    return deliveries


def unlend(transaction: Transaction, lock_tokens: Sequence[str]) -> None:
    """Nobody saw these deliveries: put them back where they were, uncounted."""
    for parcel, token in map(_parts, reversed(lock_tokens)):
        for box, tenant in transaction.rows(_UNLEND, parcel, token):
            transaction.join(box, tenant, 1)


def settle(transaction: Transaction, settlements: Sequence[Settle]) -> list[bool]:
    """Settle what is still held; False for each lock that is not."""
    return [_settle(transaction, each) for each in settlements]


def renew(transaction: Transaction, lock_tokens: Sequence[str]) -> list[int | None]:
    """Start the time of these locks again; None for each that is lost."""
    until = transaction.now + transaction.limits.lock
    answers: list[int | None] = []
    for parcel, token in map(_parts, lock_tokens):
        transaction.connection.execute(
            "UPDATE parcels SET locked_until = ?, place = ? WHERE id = ? AND token = ?",
            (until, transaction.counter + 1, parcel, token),
        )
        renewed = transaction.connection.changes() > 0
        if renewed:
            transaction.next()
        answers.append(until if renewed else None)
    return answers


def withdraw(transaction: Transaction, message_ids: Sequence[str]) -> None:
    """Forget these wherever they wait or are lent."""
    for message_id in message_ids:
        rows = transaction.rows(
            "DELETE FROM parcels WHERE message_id = ? RETURNING box, tenant, token", message_id
        )
        transaction.held -= len(rows)
        for box, tenant, token in rows:
            if token is None and box != UNCLAIMED:
                transaction.leave(box, tenant, 1)


def message_of(columns: Sequence[Any]) -> Message:
    """A message from `message_id, topic, subject, tenant, body, properties`."""
    message_id, topic, subject, tenant, body, properties = columns
    return Message(
        message_id=message_id,
        topic=topic,
        subject=subject,
        tenant_id=tenant,
        body=body,
        properties={} if properties is None else msgspec.json.decode(properties),
    )


def _row(message: Message) -> tuple[object, ...]:
    properties = msgspec.json.encode(message.properties).decode() if message.properties else None
    priority = max(-_LARGEST, min(priority_of(message), _LARGEST))
    return (
        message.message_id,
        message.tenant_id,
        priority,
        message.topic,
        message.subject,
        properties,
        message.body,
    )


def _lanes(transaction: Transaction, box: int, limit: int, tenants: Tenants) -> dict[str, int]:
    """How many wait of each tenant that may get a turn, the longest waiting tenant first."""
    if tenants is None:
        rows = transaction.rows(
            "SELECT tenant, waiting FROM lanes WHERE box = ? ORDER BY turn LIMIT ?", box, limit
        )
    else:
        rows = transaction.rows(
            "SELECT tenant, waiting FROM lanes WHERE box = ? AND tenant IN (SELECT value FROM json_each(?)) "
            "ORDER BY turn LIMIT ?",
            box,
            msgspec.json.encode(sorted(tenants)).decode(),
            limit,
        )
    return dict(rows)


def _turns(lanes: dict[str, int], limit: int) -> list[str]:
    """Whose turn it is, one after the other, until everybody is served or the limit is reached."""
    left = dict(lanes)
    turns: list[str] = []
    while left and len(turns) < limit:
        turns += list(left)[: limit - len(turns)]
        left = {tenant: waiting - 1 for tenant, waiting in left.items() if waiting > 1}
    return turns


def _move_on(transaction: Transaction, box: int, tenant: str, *, left: int) -> None:
    if left > 0:
        transaction.connection.execute(
            "UPDATE lanes SET waiting = ?, turn = ? WHERE box = ? AND tenant = ?",
            (left, transaction.next(), box, tenant),
        )
    else:
        transaction.connection.execute("DELETE FROM lanes WHERE box = ? AND tenant = ?", (box, tenant))


def _settle(transaction: Transaction, settlement: Settle) -> bool:
    parcel, token = _parts(settlement.lock_token)
    connection = transaction.connection
    if settlement.outcome is Settlement.COMPLETE:
        connection.execute("DELETE FROM parcels WHERE id = ? AND token = ?", (parcel, token))
        done = connection.changes()
        transaction.held -= done
        return done > 0
    held = transaction.rows(
        "SELECT box, tenant, deliveries FROM parcels WHERE id = ? AND token = ?", parcel, token
    )
    for box, tenant, deliveries in held:
        if settlement.outcome is Settlement.ABANDON:
            transaction.give_back(parcel, box, tenant, deliveries, settlement.reason)
        else:
            transaction.bury(parcel, settlement.reason)
    return held != []


def _parts(lock_token: str) -> tuple[int, str]:
    """The row a lock token speaks of, and its secret; no row for what is no token of ours."""
    number, _, token = lock_token.partition(".")
    if not (number.isascii() and number.isdecimal() and len(number) <= _DIGITS):
        return -1, token
    return int(number), token
