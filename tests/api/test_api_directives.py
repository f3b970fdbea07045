"""Directives over HTTP: competing receivers, locks, narrowing."""

from __future__ import annotations

import asyncio

from lucius.security.principal import Role
from tests.api.world import World, problem

RECEIVE = "/v1/directives:receive"


async def test_two_receivers_compete_and_nothing_is_lent_twice(api: World) -> None:
    """Receivers of one step type, whatever else they take, share its directives among them."""
    jobs = {await api.submit(idempotency_key=f"k{number}") for number in range(20)}
    both = await asyncio.gather(
        *(api.take("OCR", max=5) for _ in range(2)), *(api.take("OCR", "SIS", max=5) for _ in range(2))
    )
    lent = [one["directive"]["jobId"] for part in both for one in part]
    assert len(lent) == 20
    assert set(lent) == jobs


async def test_waiting_receivers_get_what_comes(api: World) -> None:
    """A long poll over several step types answers as soon as one of them has something."""
    waiting = asyncio.create_task(api.take("EMBEDDING", "OCR", max=1, wait_seconds=30))
    other = asyncio.create_task(api.take("OCR", max=1, wait_seconds=30))
    await asyncio.gather(api.submit(idempotency_key="1"), api.submit(idempotency_key="2"))
    taken = [one["directive"]["jobId"] for part in await asyncio.gather(waiting, other) for one in part]
    assert len(set(taken)) == len(taken) == 2


async def test_settled_directives_are_gone_and_lost_locks_are_told(api: World) -> None:
    """Completing ends a directive; a lock that was settled before is lost, and so is one made up."""
    await api.submit()
    (lent,) = await api.take("OCR")
    settlement = {"lock_token": lent["lock_token"], "outcome": "complete"}
    made_up = {"lock_token": "made-up", "outcome": "abandon", "reason": "who knows"}
    first = await api.post("/v1/directives:settle", {"settlements": [settlement, made_up]})
    assert [item["result"] for item in first.json()["results"]] == ["ok", "lost"]
    again = await api.post("/v1/directives:settle", {"settlements": [settlement]})
    assert [item["result"] for item in again.json()["results"]] == ["lost"]
    assert await api.take("OCR", wait_seconds=0) == []


async def test_an_abandoned_directive_comes_again(api: World) -> None:
    """Abandoning gives the same directive, byte for byte, to the next receiver."""
    await api.submit()
    (lent,) = await api.take("OCR")
    settlement = {"lock_token": lent["lock_token"], "outcome": "abandon"}
    await api.post("/v1/directives:settle", {"settlements": [settlement]})
    (again,) = await api.take("OCR")
    assert again["directive"] == lent["directive"]
    assert (lent["delivery_count"], again["delivery_count"]) == (1, 2)
    assert again["lock_token"] != lent["lock_token"]


async def test_locks_can_be_kept(api: World) -> None:
    """Renewing tells the new end of a held lock, and that a lost one is lost."""
    await api.submit()
    (lent,) = await api.take("OCR")
    asked = {"lock_tokens": [lent["lock_token"], "made-up"]}
    kept, lost = (await api.post("/v1/directives:renew", asked)).json()["results"]
    assert kept["result"] == "ok"
    assert kept["locked_until"] >= lent["locked_until"]
    assert (lost["result"], lost["locked_until"]) == ("lost", None)


async def test_a_key_narrows_what_is_seen(api: World) -> None:
    """A service key for one tenant and one step type sees nothing of others, asked or not."""
    await api.submit(tenant_id="acme")
    await api.submit(tenant_id="globex")
    service = api.key(Role.SERVICE, tenants={"acme"}, step_types={"OCR"})
    taken = await api.take(headers=service, max=10)
    assert {one["directive"]["tenant_id"] for one in taken} == {"acme"}
    assert await api.take("OCR", headers=service, wait_seconds=0) == []
    foreign = await api.post(RECEIVE, {"step_types": ["OCR"], "tenants": ["globex"]}, service)
    problem(foreign, 403, "TENANT_FORBIDDEN")
    problem(await api.post(RECEIVE, {"step_types": ["SIS"]}, service), 403, "STEP_TYPE_FORBIDDEN")


async def test_receiving_has_bounds(api: World) -> None:
    """Step types must exist, and count, time and names stay within limits."""
    found = problem(await api.post(RECEIVE, {"step_types": ["OCR", "NOPE"]}), 422, "UNKNOWN_STEP_TYPE")
    assert found["errors"][0]["pointer"] == "/step_types/1"
    for body, pointer in (
        ({"max": 101}, "/max"),
        ({"wait_seconds": 31}, "/wait_seconds"),
        ({"step_types": ["a b"]}, "/step_types/0"),
        ({"tenants": []}, "/tenants"),
        ({"maximum": 1}, "/maximum"),
    ):
        refused = problem(await api.post(RECEIVE, body), 422, "INVALID_REQUEST")
        assert refused["errors"][0]["pointer"] == pointer


async def test_a_long_poll_ends_when_lucius_goes_down(api: World) -> None:
    """Whoever waits for directives at the drain is sent home with none, and is told so by an answer."""
    waiting = [asyncio.create_task(api.take(*types, wait_seconds=30)) for types in (("OCR",), ("OCR", "SIS"))]
    for _ in range(20):
        await asyncio.sleep(0)
    api.lucius.hub.close()
    assert await asyncio.gather(*waiting) == [[], []]


async def test_a_receiver_that_hangs_up_takes_nothing_with_it(api: World) -> None:
    """A directive that comes after its receiver is gone goes to the next one, at its first delivery."""
    waiting = asyncio.create_task(api.take("OCR", "SIS", wait_seconds=30))
    for _ in range(20):  # let the request get as far as it can; the loop has nothing else to do
        await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await api.submit()
    (lent,) = await api.take("OCR")
    assert lent["delivery_count"] == 1
