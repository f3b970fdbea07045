from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from lucius.errors import Unavailable
from lucius.ports.deliveries import Deliveries, DeliveryAttempt, DeliveryState
from lucius.webhooks.guard import Policy
from lucius.webhooks.post import Poster
from lucius.webhooks.schedule import RETRY_DELAYS
from lucius.webhooks.sender import Limits, Sender
from lucius.webhooks.signing import Signer, make_secret

Serve = Callable[..., Awaitable[Any]]
SECRET = make_secret(b"k" * 32)
START = 1_000_000


class Clock:
    """Time that moves when told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        """What time it is."""
        return self.now


async def nowhere(host: str, port: int) -> Sequence[str]:
    """Only literal addresses are used here."""
    raise AssertionError(host)


async def never(_seconds: float) -> None:
    """A sleep that ends only by being cancelled: what happens must come from a wake-up."""
    await asyncio.Event().wait()


def answer_of(status: int, *headers: str) -> bytes:
    """An answer without a body."""
    lines = [f"HTTP/1.1 {status} X", "content-length: 0", "connection: close", *headers]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


@pytest.fixture
def clock() -> Clock:
    """Time, at the start."""
    return Clock()


@pytest.fixture
def make_sender(store: Any, clock: Clock) -> Callable[..., Sender]:
    """Senders over the log in memory."""

    def make(deliveries: Deliveries | None = None, **given: Any) -> Sender:
        poster = Poster(policy=lambda: Policy(allow_loopback=True), resolver=nowhere)
        signer = Signer(SECRET, {"tenant_a": [SECRET]})
        parts: dict[str, Any] = {
            "clock": clock,
            "chance": lambda: 0.0,
            "sleep": never,
            "signer": signer,
            "poster": poster,
        }
        return Sender(deliveries=deliveries or store.log, **parts | given)

    return make


async def test_delivery_arrives_signed_and_is_logged(
    serve: Serve, store: Any, make_row: Any, make_sender: Any
) -> None:
    """A due delivery arrives with its bytes and a good signature, and its log line says so."""
    endpoint = await serve()
    row = make_row("j1", 1, _url(endpoint))
    store.insert(row)
    report = await make_sender().run_once(START)
    (request,) = endpoint.seen
    assert (report.sent, report.delivered, request.body) == (1, 1, row.body)
    assert request.headers["webhook-id"] == "j1.1"
    assert request.headers["content-type"].startswith("application/cloudevents+json")
    stamp = request.headers["webhook-timestamp"]
    assert stamp == str(START // 1000)
    resigned = Signer(SECRET, {"tenant_a": [SECRET]}).headers("tenant_a", "j1.1", START, request.body)
    assert request.headers["webhook-signature"] == resigned["webhook-signature"]
    (view,) = await store.log.for_job("j1")
    assert (view.state, view.tries, view.next_at) == (DeliveryState.DELIVERED, 1, None)
    assert view.attempts == (DeliveryAttempt(at=START, took_ms=0, status=200),)
    assert (await make_sender().run_once(START)).sent == 0


async def test_failure_is_tried_again_with_the_same_id_until_it_is_taken(
    serve: Serve, store: Any, make_row: Any, make_sender: Any, clock: Clock
) -> None:
    """A failed delivery comes back when its wait is over, not before, under the same id."""
    endpoint = await serve(answer_of(503), answer_of(500))
    store.insert(make_row("j1", 1, _url(endpoint)))
    sender = make_sender()
    assert (await sender.run_once(clock.now)).retrying == 1
    clock.now += RETRY_DELAYS[0] - 1
    assert (await sender.run_once(clock.now)).sent == 0
    clock.now += 1
    assert (await sender.run_once(clock.now)).retrying == 1
    clock.now += RETRY_DELAYS[1]
    assert (await sender.run_once(clock.now)).delivered == 1
    assert [request.headers["webhook-id"] for request in endpoint.seen] == ["j1.1"] * 3
    (view,) = await store.log.for_job("j1")
    assert [attempt.status for attempt in view.attempts] == [503, 500, 200]


async def test_order_is_kept_for_one_job_and_url(
    serve: Serve, store: Any, make_row: Any, make_sender: Any, clock: Clock
) -> None:
    """A later event waits for the earlier one, and goes out as soon as that is settled."""
    endpoint = await serve(answer_of(503))
    store.insert(make_row("j1", 1, _url(endpoint)), make_row("j1", 2, _url(endpoint)))
    sender = make_sender()
    await sender.run_once(clock.now)
    store.insert(make_row("j1", 5, _url(endpoint)), make_row("j2", 1, _url(endpoint)))
    clock.now += RETRY_DELAYS[0]
    for _ in range(3):
        await sender.run_once(clock.now)
    sent = [request.headers["webhook-id"] for request in endpoint.seen]
    assert [name for name in sent if name.startswith("j1")] == ["j1.1", "j1.1", "j1.2", "j1.5"]
    assert "j2.1" in sent


async def test_exhausted_delivery_gives_its_turn_away(
    serve: Serve, store: Any, make_row: Any, make_sender: Any, clock: Clock
) -> None:
    """When the schedule is used up the delivery is exhausted, and the next event is sent."""
    endpoint = await serve(*[answer_of(500)] * (len(RETRY_DELAYS) + 1))
    store.insert(make_row("j1", 1, _url(endpoint)), make_row("j1", 2, _url(endpoint)))
    sender = make_sender()
    reports = [await sender.run_once(clock.now)]
    for delay in RETRY_DELAYS:
        clock.now += delay
        reports.append(await sender.run_once(clock.now))
    assert [report.exhausted for report in reports] == [0] * len(RETRY_DELAYS) + [1]
    assert (await sender.run_once(clock.now)).delivered == 1
    states = [(view.seq, view.state.value, view.tries) for view in await store.log.for_job("j1")]
    assert states == [(1, "EXHAUSTED", 8), (2, "DELIVERED", 1)]


async def test_redelivery_starts_over(serve: Serve, store: Any, make_row: Any, make_sender: Any) -> None:
    """An exhausted delivery can be sent again by hand; an unknown one says so."""
    endpoint = await serve(answer_of(410))
    store.insert(make_row("j1", 1, _url(endpoint)))
    sender = make_sender()
    assert (await sender.run_once(START)).exhausted == 1
    assert await store.log.redeliver("j1.1.0", START)
    assert (await sender.run_once(START)).delivered == 1
    assert not await store.log.redeliver("j9.1.0", START)
    (view,) = await store.log.for_job("j1")
    assert [attempt.status for attempt in view.attempts] == [410, 200]


async def test_slow_endpoint_holds_up_nobody(
    serve: Serve, store: Any, make_row: Any, make_sender: Any
) -> None:
    """While an endpoint with a long queue hangs, another one's deliveries all arrive."""
    slow, quick = await serve(), await serve()
    release, all_in = asyncio.Event(), asyncio.Event()

    async def hang(_request: object) -> None:
        await release.wait()

    async def count(_request: object) -> None:
        if len(quick.seen) == 30:
            all_in.set()

    slow.before_answer, quick.before_answer = hang, count
    store.insert(*(make_row(f"s{n}", 1, _url(slow)) for n in range(300)))
    store.insert(*(make_row(f"q{n}", 1, _url(quick)) for n in range(30)))
    sender = make_sender(limits=Limits(total=16, per_host=4))
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(sender.run())
        await all_in.wait()
        assert len(slow.seen) <= 4
        sender.stop()
        release.set()
    assert sender.totals.sent == sender.totals.delivered


async def test_wake_up_starts_a_delivery_at_once(
    serve: Serve, store: Any, make_row: Any, make_sender: Any
) -> None:
    """A commit that wakes the sender is sent without waiting for the next poll."""
    endpoint = await serve()
    arrived = asyncio.Event()

    async def note(_request: object) -> None:
        arrived.set()

    endpoint.before_answer = note
    idle = asyncio.Event()

    async def tell_idle(_seconds: float) -> None:
        idle.set()
        await asyncio.Event().wait()

    sender = make_sender(sleep=tell_idle)
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(sender.run())
        await idle.wait()
        store.insert(make_row("j1", 1, _url(endpoint)))
        sender.wake()
        await arrived.wait()
        sender.stop()
    assert sender.totals.delivered == 1


async def test_one_tenant_with_many_endpoints_leaves_room(
    serve: Serve, store: Any, make_row: Any, make_sender: Any
) -> None:
    """However many endpoints a tenant names, a round serves the other tenant too."""
    endpoint = await serve()
    urls = [f"http://127.0.0.{n}:9/in" for n in range(2, 90)]
    store.insert(*(make_row(f"m{n}", 1, url) for n, url in enumerate(urls)))
    store.insert(make_row("other", 1, _url(endpoint), tenant_id="tenant_b"))
    report = await make_sender(limits=Limits(total=8)).run_once(START)
    assert (report.delivered, report.retrying) == (1, 4)


async def test_one_host_shared_by_many_tenants_gets_its_few_places(
    serve: Serve, store: Any, make_row: Any, make_sender: Any
) -> None:
    """The limit of a host holds over all tenants together."""
    endpoint = await serve()
    store.insert(*(make_row(f"j{n}", 1, _url(endpoint), tenant_id=f"t{n}") for n in range(40)))
    report = await make_sender(limits=Limits(total=32, per_host=3)).run_once(START)
    assert (report.sent, len(endpoint.seen)) == (3, 3)


async def test_due_serves_every_endpoint_before_any_twice(store: Any, make_row: Any) -> None:
    """A page holds each endpoint's first deliveries first, and no more of one than asked for."""
    crowd = [make_row(f"c{n}", 1, "https://crowd.example.com/") for n in range(50)]
    single = [make_row(f"s{n}", 1, f"https://s{n}.example.com/", tenant_id=f"t{n}") for n in range(3)]
    store.insert(*crowd, *single)
    page = await store.log.due(START, 100, per_host=4)
    assert {due.host for due in page[:4]} == {due.host for due in page}
    assert len(page) == 7
    assert len(await store.log.due(START, 2, per_host=4)) == 2


async def test_store_that_is_away_leaves_the_delivery_due(
    serve: Serve, store: Any, make_row: Any, make_sender: Any
) -> None:
    """If the outcome cannot be recorded the delivery stays due and is sent again, same id."""
    endpoint = await serve()
    store.insert(make_row("j1", 1, _url(endpoint)))

    class Away:
        due = store.log.due
        for_job = store.log.for_job
        redeliver = store.log.redeliver

        async def record(self, *_: object) -> None:
            raise Unavailable("the ledger is away")

    report = await make_sender(Away()).run_once(START)
    assert (report.sent, report.unrecorded) == (1, 1)
    assert (await make_sender().run_once(START)).delivered == 1
    assert [request.headers["webhook-id"] for request in endpoint.seen] == ["j1.1", "j1.1"]


async def test_url_the_policy_no_longer_takes_ends_at_once(
    store: Any, make_row: Any, make_sender: Any
) -> None:
    """A stored URL that a tightened policy refuses is not tried and not kept."""
    store.insert(make_row("j1", 1, "http://hooks.example.com/in"))
    assert (await make_sender().run_once(START)).exhausted == 1
    (view,) = await store.log.for_job("j1")
    assert [attempt.code for attempt in view.attempts] == ["WEBHOOK_SCHEME"]


def test_finding_due_work_reads_no_settled_or_waiting_rows(store: Any) -> None:
    """Every access of the due query to the table goes through the partial index or the key."""
    from lucius.adapters.ledgers.sqlite.deliveries import _DUE

    plan = [row[3] for row in store.db.execute(f"EXPLAIN QUERY PLAN {_DUE}", (1, 1, 1))]
    touching = [
        line for line in plan if line.startswith(("SEARCH ", "SCAN deliveries", "SCAN d ", "SCAN h "))
    ]
    assert len(touching) == 4
    assert all("deliveries_due" in line or "(delivery_id=?)" in line for line in touching)


def _url(endpoint: Any) -> str:
    return f"http://127.0.0.1:{endpoint.port}/in"
