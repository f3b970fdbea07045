from __future__ import annotations

import asyncio

import pytest
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

from lucius.errors import Unavailable
from lucius.testing.processes import free_port
from tests.invoker.world import BODIES, World, calls, inviting, serving

ADVANCE = "/v1/internal/steps/advance"


async def test_replicas_take_turns(world: World) -> None:
    """Of two invokers each gets its share of the calls."""
    other = World()
    async with serving(other) as other.url, inviting(f"{world.url}, {other.url}/") as invoker:
        for _ in range(4):
            await calls(invoker)["advance"]()
    assert (len(world.recorder.calls), len(other.recorder.calls)) == (2, 2)


async def test_a_dead_replica_is_passed_over(world: World) -> None:
    """While one of two invokers does not listen, every call reaches the other one."""
    dead = f"http://127.0.0.1:{free_port()}"
    async with inviting(f"{dead},{world.url}") as invoker:
        for call in calls(invoker).values():
            await call()
    assert [call[0] for call in world.recorder.calls] == list(calls(world.recorder))


async def test_nobody_there_is_an_outage() -> None:
    """When no invoker listens it is Unavailable, with the address and no token."""
    dead = f"http://127.0.0.1:{free_port()}"
    async with inviting(f"{dead},{dead}") as invoker:
        for call in calls(invoker).values():
            with pytest.raises(Unavailable, match=dead) as caught:
                await call()
            assert caught.value.code == "INVOKER_UNAVAILABLE"


async def test_what_runs_may_finish_while_draining(world: World) -> None:
    """An invoker about to end says so, takes nothing new, and finishes what it has begun."""
    world.recorder.gate = asyncio.Event()
    async with world.client() as invoker, asyncio.timeout(30):
        running = asyncio.create_task(invoker.republish(["a-job"]))
        await world.recorder.entered.wait()
        world.draining = True
        for name, call in calls(invoker).items():
            with pytest.raises(Unavailable) as caught:
                await call()
            assert (caught.value.code, caught.value.retry_after) == ("DRAINING", 1), name
        assert (await world.ask("GET", "/readyz", token=None)).status_code == 503
        assert (await world.ask("GET", "/healthz", token=None)).status_code == 200
        assert (await world.ask("GET", "/metrics")).status_code == 200
        world.recorder.gate.set()
        assert await running == 1
    assert len(world.recorder.calls) == 1


async def test_a_draining_replica_is_passed_over(world: World) -> None:
    """A call that one invoker refuses because it ends is done by the other, once."""
    other = World()
    other.draining = True
    async with serving(other) as other.url, inviting(f"{world.url},{other.url}") as invoker:
        for _ in range(4):
            await calls(invoker)["advance"]()
    assert (len(world.recorder.calls), other.recorder.calls) == (4, [])


async def test_a_strangers_call_is_not_told_of_draining(world: World) -> None:
    """Whether an invoker drains is for those who have the token."""
    world.draining = True
    answer = await world.ask("POST", ADVANCE, token=None, json=BODIES[ADVANCE])
    assert answer.status_code == 401


async def test_probes_say_what_is_up(world: World) -> None:
    """Health has the version, readiness names what is not up, and metrics are those handed in."""
    health = await world.ask("GET", "/healthz", token=None)
    assert health.json() == {"status": "ok", "version": "1.2.3"}
    ready = await world.ask("GET", "/readyz", token=None)
    assert (ready.status_code, ready.json()["status"]) == (200, "ready")
    world.components["bus"] = "away"
    ready = await world.ask("GET", "/readyz", token=None)
    assert (ready.status_code, ready.json()["components"]["bus"]) == (503, "away")
    metrics = await world.ask("GET", "/metrics", headers={"Accept": "application/openmetrics-text"})
    assert (metrics.text, metrics.headers["content-type"]) == (
        "lucius_up 1\n",
        "application/openmetrics-text",
    )
    assert (await world.ask("HEAD", "/healthz", token=None)).content == b""


async def test_a_trace_goes_on_at_the_invoker(world: World) -> None:
    """A call made inside a span carries it as traceparent; outside of any it carries none."""
    context = SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    async with world.client() as invoker:
        await calls(invoker)["advance"]()
        with use_span(NonRecordingSpan(context)):
            await calls(invoker)["advance"]()
    first, second = (dict(scope["headers"]) for scope in world.seen)
    assert b"traceparent" not in first
    assert second[b"traceparent"] == f"00-{0xABC:032x}-{0xDEF:016x}-01".encode()
