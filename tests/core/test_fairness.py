from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lucius.core.fairness import FairQueue


def filled(*items: str) -> FairQueue[str]:
    """A queue of items named tenant + number, as in a1, b1, a2."""
    queue: FairQueue[str] = FairQueue()
    for item in items:
        assert queue.push(item[0], item, item)
    return queue


def test_tenants_take_turns() -> None:
    """One item of each tenant at a time, however many each has."""
    queue = filled("a1", "a2", "a3", "b1", "c1", "c2")
    assert queue.take(10) == ["a1", "b1", "c1", "a2", "c2", "a3"]


def test_turns_go_on_between_takes() -> None:
    """Taking one at a time gives the same order as taking all at once."""
    queue = filled("a1", "a2", "a3", "b1", "c1", "c2")
    assert [queue.pop() for _ in range(7)] == ["a1", "b1", "c1", "a2", "c2", "a3", None]


def test_a_newcomer_waits_one_round() -> None:
    """A tenant that arrives late is served after those already waiting had one turn each."""
    queue = filled(*(f"a{n}" for n in range(9)), *(f"b{n}" for n in range(9)))
    queue.take(1)
    queue.push("z", "z1", "z1")
    assert queue.take(3) == ["b0", "a1", "z1"]


def test_priority_orders_one_tenant_only() -> None:
    """A high priority passes the same tenant's items, not other tenants' turns."""
    queue = filled("a1", "b1", "b2")
    queue.push("a", "a9", "a9", priority=9)
    queue.push("a", "a8", "a8", priority=9)
    assert queue.take(5) == ["a9", "b1", "a8", "b2", "a1"]


def test_a_key_waits_once() -> None:
    """Pushing a key that waits changes nothing, also under another tenant."""
    queue = filled("a1")
    assert not queue.push("b", "a1", "other")
    assert (queue.get("a1"), len(queue), queue.by_tenant()) == ("a1", 1, {"a": 1})


def test_removing_by_key_leaves_the_rest() -> None:
    """An item can be taken out of the middle, and an emptied tenant has no turn."""
    queue = filled("a1", "a2", "b1")
    assert (queue.remove("b1"), queue.remove("b1"), queue.get("b1")) == ("b1", None, None)
    assert (queue.waiting("a"), queue.waiting("b"), "a2" in queue) == (2, 0, True)
    assert queue.take(5) == ["a1", "a2"]
    assert len(queue) == 0


def test_a_narrowed_taker_keeps_the_turns() -> None:
    """Takers that see only some tenants get theirs in turn, and the others lose nothing."""
    queue = filled("a1", "a2", "b1", "c1", "c2")
    assert queue.take(1, frozenset("c")) == ["c1"]
    assert queue.take(2, frozenset("ac")) == ["a1", "c2"]
    assert queue.take(9, frozenset("abcdefg")) == ["b1", "a2"]
    assert (queue.serves(None), queue.serves(frozenset("a"))) == (False, False)


@given(st.frozensets(st.sampled_from("bcdefgh"), min_size=1))
def test_a_narrowed_taker_follows_the_ring(tenants: frozenset[str]) -> None:
    """Among the tenants a taker may see, the one whose turn is longest ago is first."""
    queue = filled(*(f"{tenant}1" for tenant in "hgfedcba"))
    assert queue.take(8, tenants) == [f"{tenant}1" for tenant in "hgfedcba" if tenant in tenants]


def test_taking_nothing() -> None:
    """A limit of zero takes nothing, and tenants without items are nothing to take."""
    queue = filled("a1")
    assert (queue.take(0), queue.take(3, frozenset("z")), len(queue)) == ([], [], 1)


PUSHES = st.lists(st.tuples(st.sampled_from("abcd"), st.integers(0, 2)), max_size=40)


@given(PUSHES, st.lists(st.integers(1, 7), max_size=30), st.sets(st.integers(0, 39)))
def test_nothing_is_lost_doubled_or_out_of_order(
    pushes: list[tuple[str, int]], limits: list[int], removed: set[int]
) -> None:
    """Whatever is pushed comes out once; within tenant and priority in order; removed items never."""
    queue: FairQueue[tuple[str, int, int]] = FairQueue()
    for number, (tenant, priority) in enumerate(pushes):
        queue.push(tenant, str(number), (tenant, priority, number), priority=priority)
    for number in removed:
        queue.remove(str(number))
    expected = {(*push, number) for number, push in enumerate(pushes) if number not in removed}
    assert set(queue) == expected
    taken = [item for limit in [*limits, 40] for item in queue.take(limit)]
    assert len(taken) == len(expected)
    assert set(taken) == expected
    for tenant in "abcd":
        mine = [(-priority, number) for who, priority, number in taken if who == tenant]
        assert all(one < other for one, other in pairwise(mine))


@given(st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 30), min_size=1), st.integers(1, 9))
def test_nobody_waits_longer_than_one_round(sizes: dict[str, int], limit: int) -> None:
    """Between two turns of a waiting tenant every other tenant has at most one."""
    queue = filled(*(f"{tenant}{n}" for tenant, size in sizes.items() for n in range(size)))
    order = []
    while got := queue.take(limit):
        order += [item[0] for item in got]
    for tenant in sizes:
        turns = [place for place, who in enumerate(order) if who == tenant]
        assert turns[0] < len(sizes)
        for one, other in pairwise(turns):
            between = order[one + 1 : other]
            assert len(between) == len(set(between))
