"""One of several invokers stands still: it takes calls and answers none."""

from __future__ import annotations

import asyncio

import pytest

from lucius.adapters.invokers import replicas
from lucius.errors import Unavailable
from tests.invoker.world import World, calls, inviting, serving


async def test_a_silent_replica_costs_one_call(world: World) -> None:
    """Whoever did not answer in time is not asked while another one answers."""
    still = World()
    still.recorder.gate = asyncio.Event()
    async with (
        serving(still) as still.url,
        inviting(f"{world.url},{still.url}", timeout=2.0) as invoker,
        asyncio.timeout(30),
    ):
        advance = calls(invoker)["advance"]
        with pytest.raises(Unavailable, match="in time"):
            await advance()  # the second address has the first turn
        for _ in range(6):
            await advance()
        still.recorder.gate.set()
    assert (len(world.recorder.calls), len(still.recorder.calls)) == (6, 1)


async def test_a_replica_that_is_back_is_asked_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """After its rest the silent one gets a call, and once it answers its share of them."""
    monkeypatch.setattr(replicas, "REST", 0.0)
    other = World()
    other.recorder.gate = asyncio.Event()
    async with (
        serving(other) as other.url,
        inviting(f"{world.url},{other.url}", timeout=2.0) as invoker,
        asyncio.timeout(30),
    ):
        advance = calls(invoker)["advance"]
        with pytest.raises(Unavailable, match="in time"):
            await advance()
        other.recorder.gate.set()
        for _ in range(4):
            await advance()
    assert (len(world.recorder.calls), len(other.recorder.calls)) == (2, 3)
