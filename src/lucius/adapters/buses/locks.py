"""The locks of the embedded bus.

All locks last equally long, so the order in which they are given or renewed is the order in which
they run out: the table is its own due list and holds nothing but what is lent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from lucius.ports.bus import Delivery

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lucius.adapters.buses.mailbox import Parcel

NEVER: Final = 1 << 62


class LockTable:
    """Parcels by lock token, the next to run out first."""

    __slots__ = ("_latest", "_length", "_lent", "_new_token", "due")

    def __init__(self, *, length: int, new_token: Callable[[], str]) -> None:
        self._length = length
        self._new_token = new_token
        self._lent: dict[str, Parcel] = {}
        self._latest = 0
        self.due = NEVER
        """No lock runs out before this; it may be early, it is never late."""

    def __len__(self) -> int:
        return len(self._lent)

    def lend(self, parcels: Iterable[Parcel], now: int) -> list[Delivery]:
        """Lock these parcels and say how they go out."""
        until = self._until(now)
        lent, new_token = self._lent, self._new_token
        deliveries = []
        for parcel in parcels:
            token = new_token()
            count = parcel.deliveries = parcel.deliveries + 1
            parcel.locked_until = until
            message = parcel.message
            lent[token] = parcel
            parcel.mailbox.lent[message.message_id] = parcel
            deliveries.append(
                Delivery(message=message, lock_token=token, locked_until=until, delivery_count=count)
            )
        self.due = min(self.due, until)
        return deliveries

    def release(self, token: str) -> Parcel | None:
        """Give a lock up; None if nobody holds it, or if its parcel was withdrawn meanwhile."""
        parcel = self._lent.pop(token, None)
        if parcel is None or parcel.mailbox.lent.get(parcel.message.message_id) is not parcel:
            return None
        return parcel

    def renew(self, token: str, now: int) -> int | None:
        """Start the lock's time again; None if nobody holds it."""
        parcel = self.release(token)
        if parcel is None:
            return None
        self._lent[token] = parcel
        parcel.locked_until = self._until(now)
        return parcel.locked_until

    def expire(self, now: int) -> list[Parcel]:
        """Take back every lock that has run out."""
        over: list[str] = []
        self.due = NEVER
        for token, parcel in self._lent.items():
            if parcel.locked_until > now:
                self.due = parcel.locked_until
                break
            over.append(token)
        released = map(self.release, over)
        return [parcel for parcel in released if parcel is not None]

    def _until(self, now: int) -> int:
        # A clock that steps back must not put a later lock before an earlier one.
        self._latest = max(self._latest, now + self._length)
        return self._latest
