from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from lucius.sdk.transports.gathering import Gathering


class Post:
    """Sends when it is let, and notes what went together."""

    def __init__(self) -> None:
        self.sent: list[list[int]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.fails = False
        """The next one."""

    async def __call__(self, items: Sequence[int]) -> Sequence[int]:
        """Every item ten times over."""
        self.sent.append(list(items))
        await self.gate.wait()
        if self.fails:
            self.fails = False
            raise ZeroDivisionError
        return [item * 10 for item in items]


async def test_callers_that_are_ready_together_share_a_request() -> None:
    """The first does not run away with its own item alone; order and answers are each one's own."""
    post = Post()
    gathering = Gathering(post, most=100)
    assert await asyncio.gather(*(gathering.put([n]) for n in range(5))) == [[0], [10], [20], [30], [40]]
    assert post.sent == [[0, 1, 2, 3, 4]]


async def test_callers_that_were_answered_go_on_together() -> None:
    """What they do next is one request again, round after round."""
    post = Post()
    gathering = Gathering(post, most=100)

    async def twice(number: int) -> None:
        await gathering.put([number])
        await gathering.put([number + 100])

    await asyncio.gather(*(twice(n) for n in range(4)))
    assert post.sent == [[0, 1, 2, 3], [100, 101, 102, 103]]


@pytest.mark.parametrize("cancelled", [True, False], ids=["cancelled", "broken"])
async def test_a_sender_that_does_not_come_back_leaves_the_rest_to_the_next(cancelled: bool) -> None:
    """Its own item is forgotten; those of the others are sent again, in their order."""
    post = Post()
    gathering = Gathering(post, most=100)
    post.gate.clear()
    callers = [asyncio.create_task(gathering.put([n])) for n in range(3)]
    while not post.sent:
        await asyncio.sleep(0)
    post.fails = not cancelled
    if cancelled:
        callers[0].cancel()
    else:
        post.gate.set()
    (first,) = await asyncio.gather(callers[0], return_exceptions=True)
    assert isinstance(first, asyncio.CancelledError if cancelled else ZeroDivisionError)
    post.gate.set()
    assert await asyncio.gather(*callers[1:]) == [[10], [20]]
    assert post.sent == [[0, 1, 2], [1, 2]]


async def test_more_than_fits_goes_in_several_requests() -> None:
    """Neither the number nor the weight of a request grows beyond its bound."""
    post = Post()
    many = Gathering(post, most=3)
    heavy = Gathering(post, most=100, weigh=lambda _: 10, room=25)
    await asyncio.gather(*(many.put([n]) for n in range(5)), heavy.put([7, 8, 9]))
    assert sorted(post.sent) == [[0, 1, 2], [3, 4], [7, 8], [9]]
