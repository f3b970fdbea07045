"""A queue that is fair between tenants.

State: every tenant with something waiting has one lane; lanes stand in a ring. Taking serves the
lane whose turn is longest ago, one item, and sends it to the end of the ring; a tenant that comes
anew joins at the end. Within a lane the highest priority goes first, and among equals the oldest.

So with n tenants waiting, a tenant's oldest item leaves within n items, however many the others have.

Every operation costs O(1): not in the number of items or of tenants, only in the number of
priorities one tenant uses at a time, and, where a taker is narrowed, in the tenants it may see.
"""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")


class _Level(Generic[T]):
    """The items of one tenant that share a priority, oldest first."""

    __slots__ = ("items", "lane", "priority")

    def __init__(self, lane: _Lane[T], priority: int) -> None:
        self.lane = lane
        self.priority = priority
        # Not a plain dict: taking the first key of one costs O(keys removed before it).
        self.items: OrderedDict[str, T] = OrderedDict()


class _Lane(Generic[T]):
    """What one tenant has waiting, by priority, and when its turn came last."""

    __slots__ = ("levels", "tenant", "turn")

    def __init__(self, tenant: str, turn: int) -> None:
        self.tenant = tenant
        self.turn = turn
        self.levels: dict[int, _Level[T]] = {}


class FairQueue(Generic[T]):
    """Items by key, first in first out within a tenant, round and round between tenants."""

    __slots__ = ("_lanes", "_turn", "_where")

    def __init__(self) -> None:
        self._lanes: OrderedDict[str, _Lane[T]] = OrderedDict()
        self._where: dict[str, _Level[T]] = {}
        self._turn = 0

    def __len__(self) -> int:
        return len(self._where)

    def __contains__(self, key: str) -> bool:
        return key in self._where

    def __iter__(self) -> Iterator[T]:
        """All items, in no promised order."""
        return (level.items[key] for key, level in self._where.items())

    def push(self, tenant: str, key: str, item: T, *, priority: int = 0) -> bool:
        """Add an item behind its equals; False (and nothing changes) if the key already waits."""
        where = self._where
        if key in where:
            return False
        lane = self._lanes.get(tenant)
        if lane is None:
            self._turn += 1
            lane = self._lanes[tenant] = _Lane(tenant, self._turn)
        level = lane.levels.get(priority)
        if level is None:
            level = lane.levels[priority] = _Level(lane, priority)
        level.items[key] = item
        where[key] = level
        return True

    def take(self, limit: int, tenants: frozenset[str] | None = None) -> list[T]:
        """Remove up to `limit` items in fair order, only of these tenants (None: of all)."""
        taken: list[T] = []
        if limit < 1:
            return taken
        turns = self._turns(limit, tenants)
        while turns:
            again = []
            for lane in turns:
                taken.append(self._serve(lane))
                if len(taken) == limit:
                    return taken
                if lane.levels:
                    again.append(lane)
            turns = again
        return taken

    def pop(self) -> T | None:
        """Remove the item whose turn it is; None if nothing waits."""
        for item in self.take(1):
            return item
        return None

    def get(self, key: str) -> T | None:
        """The item of that key, left where it is."""
        level = self._where.get(key)
        return None if level is None else level.items[key]

    def remove(self, key: str) -> T | None:
        """Take one item out by its key, whoever's turn it is; None if it does not wait."""
        level = self._where.pop(key, None)
        if level is None:
            return None
        item = level.items.pop(key)
        self._tidy(level)
        return item

    def waiting(self, tenant: str) -> int:
        """How many items this tenant has waiting."""
        lane = self._lanes.get(tenant)
        return 0 if lane is None else sum(len(level.items) for level in lane.levels.values())

    def by_tenant(self) -> dict[str, int]:
        """How many items wait, by tenant, in the order of their next turns."""
        return {tenant: self.waiting(tenant) for tenant in self._lanes}

    def serves(self, tenants: frozenset[str] | None) -> bool:
        """Whether `take` with these tenants would find anything."""
        if tenants is None:
            return bool(self._where)
        return not tenants.isdisjoint(self._lanes.keys())

    def _turns(self, limit: int, tenants: frozenset[str] | None) -> list[_Lane[T]]:
        """The lanes to serve, longest waiting first; more than `limit` would not get a turn."""
        lanes = self._lanes
        if tenants is None:
            return list(islice(lanes.values(), limit))
        if len(tenants) < len(lanes):
            seen = [lanes[tenant] for tenant in tenants if tenant in lanes]
            seen.sort(key=attrgetter("turn"))
            return seen
        return [lane for tenant, lane in lanes.items() if tenant in tenants]

    def _serve(self, lane: _Lane[T]) -> T:
        """Remove the best item of a lane and send the lane to the end of the ring."""
        levels = lane.levels
        level = next(iter(levels.values())) if len(levels) == 1 else levels[max(levels)]
        key, item = level.items.popitem(last=False)
        del self._where[key]
        self._turn += 1
        lane.turn = self._turn
        self._lanes.move_to_end(lane.tenant)
        if not level.items:
            self._tidy(level)
        return item

    def _tidy(self, level: _Level[T]) -> None:
        """Drop a level, and its lane, once nothing is left in them."""
        if level.items:
            return
        lane = level.lane
        del lane.levels[level.priority]
        if not lane.levels:
            del self._lanes[lane.tenant]
