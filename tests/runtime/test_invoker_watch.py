"""The API hears whether an invoker is there."""

from __future__ import annotations

import httpx2
import pytest
from structlog.testing import capture_logs

from lucius.runtime import invoker_watch
from lucius.runtime.invoker_watch import AWAY, InvokerWatch
from lucius.runtime.state import State


async def test_an_invoker_that_is_away_is_named_once_and_again_when_it_is_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One of several is enough; without any, `/readyz` says so after a second look, and the log once."""
    there: set[str] = {"http://b"}

    async def answers(_http: httpx2.AsyncClient, url: str) -> bool:
        return url in there

    monkeypatch.setattr(invoker_watch, "answers", answers)
    state = State("invoker")
    watch = InvokerWatch(["http://a", "http://b"], state)
    with capture_logs() as lines:
        await watch.run_once()
        assert state.missed == {}
        there.clear()
        await watch.run_once()
        assert state.missed == {}
        for _ in range(2):
            await watch.run_once()
            assert state.missed == {"invoker": AWAY}
        there.add("http://a")
        await watch.run_once()
        assert state.missed == {}
    assert [line["event"] for line in lines] == ["no invoker answers", "an invoker answers again"]
