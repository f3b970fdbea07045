from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.invoker.world import World, serving


@pytest.fixture
async def world() -> AsyncIterator[World]:
    """The internal API, running."""
    made = World()
    async with serving(made) as made.url:
        yield made
