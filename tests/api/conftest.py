"""The world the API tests live in."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.api.world import World, world


@pytest.fixture
async def api() -> AsyncIterator[World]:
    """A running Lucius in open mode, with no service at work."""
    async with world() as found:
        yield found
