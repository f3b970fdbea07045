"""The HTTP transport, against a Lucius in a process of its own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from lucius.errors import Forbidden, Unauthenticated, Unavailable
from lucius.sdk.serving import replies
from lucius.sdk.serving.outcomes import Final
from lucius.sdk.serving.ports import Lent, Transport
from lucius.sdk.transports import HttpTransport
from lucius.testing.processes import Server, free_port
from tests.transports.promises import TransportPromises
from tests.transports.worlds import (
    NOW,
    PATIENCE,
    HttpWorld,
    directive_of,
    done,
    http_transport,
    now_ms,
    requests_to,
    submit,
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One Lucius for all tests that leave it alive."""
    with Server(tmp_path_factory.mktemp("lucius"), "--services", "none") as found:
        found.start()
        yield found


@pytest.fixture
async def world(server: Server) -> AsyncIterator[HttpWorld]:
    """It, with nothing waiting."""
    found = HttpWorld(server)
    yield found
    await found.leave()


class TestHttpTransport(TransportPromises):
    """All promises of a transport."""


async def test_it_is_a_transport(server: Server) -> None:
    """The adapter fits the port, as far as a type checker can tell."""
    bound: Transport = http_transport(f"http://127.0.0.1:{server.port}")
    await bound.close()
    assert isinstance(bound, HttpTransport)


async def test_lucius_answers_replies(world: HttpWorld) -> None:
    """A reply brings back the verdict, the end of the lease, and whether the job was cancelled."""
    job = await world.offer()
    (lent,) = await world.transport.receive(["OCR"], limit=1, wait=PATIENCE)
    directive = directive_of(lent)
    heard = await world.transport.reply(directive, replies.ack(directive, NOW))
    assert (heard.verdict, heard.cancel_requested, heard.lost) == ("accepted", False, False)
    assert heard.lease_expires_at is not None
    again = await world.transport.reply(directive, replies.ack(directive, NOW))
    assert again.verdict == "duplicate"
    world.cancel(job)
    beat = await world.transport.reply(directive, replies.heartbeat(directive, NOW, 0.5))
    assert (beat.cancel_requested, beat.lost) == (True, False)


@pytest.mark.parametrize("hours", [-1, 0, 1])
async def test_the_end_of_a_lease_is_told_on_our_own_clock(
    world: HttpWorld, server: Server, hours: int
) -> None:
    """A machine whose clock is wrong by more than a lease still knows how much of it is left."""

    def clock() -> int:
        return int((time.time() + hours * 3600) * 1000)

    await world.offer()
    (lent,) = await world.transport.receive(["OCR"], limit=1, wait=PATIENCE)
    directive = directive_of(lent)
    transport = http_transport(f"http://127.0.0.1:{server.port}", clock=clock)
    heard = await transport.reply(directive, replies.ack(directive, NOW))
    await transport.close()
    assert heard.lease_expires_at is not None
    assert 10 * 60_000 < heard.lease_expires_at - clock() < 16 * 60_000


async def test_a_lost_attempt_is_told(world: HttpWorld) -> None:
    """A second, different result says that it came too late: the work is to be thrown away."""
    await world.offer()
    (lent,) = await world.transport.receive(["OCR"], limit=1, wait=PATIENCE)
    directive = directive_of(lent)
    first = await world.transport.reply(directive, done(directive))
    late = await world.transport.reply(directive, replies.failed(directive, NOW, Final("TOO_LATE")))
    assert (first.lost, late.lost, late.verdict) == (False, True, "conflict")


async def test_replies_that_come_up_together_go_out_together(server: Server, world: HttpWorld) -> None:
    """Forty replies at once cost one request, forty settlements one; each has its own answer."""
    jobs = {await world.offer() for _ in range(40)}
    lent: list[Lent] = []
    while len(lent) < len(jobs):
        lent += await world.transport.receive(["OCR"], limit=100, wait=PATIENCE)
    directives = [directive_of(each) for each in lent]
    counted = requests_to(server)
    heard = await asyncio.gather(*(world.transport.reply(one, done(one)) for one in directives))
    await asyncio.gather(*(world.transport.complete([each.lock_token]) for each in lent))
    assert {one.verdict for one in heard} == {"accepted"}
    assert (counted("/v1/callbacks/result"), counted("/v1/callbacks/batch")) == (0, 1)
    assert counted("/v1/directives:settle") == 1
    assert {await world.state(job) for job in jobs} == {"SUCCEEDED"}


async def test_a_bad_reply_in_a_batch_fails_alone(world: HttpWorld) -> None:
    """A reply with a wrong token is told so, and those sent with it are accepted."""
    for _ in range(4):
        await world.offer()
    lent: list[Lent] = []
    while len(lent) < 4:
        lent += await world.transport.receive(["OCR"], limit=10, wait=PATIENCE)
    directives = [directive_of(each) for each in lent]
    directives[2] = msgspec.structs.replace(directives[2], callback_token="forged")
    heard = await asyncio.gather(
        *(world.transport.reply(one, replies.ack(one, NOW)) for one in directives), return_exceptions=True
    )
    assert isinstance(heard[2], Unauthenticated)
    assert [getattr(one, "verdict", None) for one in heard] == ["accepted", "accepted", None, "accepted"]


async def test_what_had_just_arrived_is_given_back(server: Server, world: HttpWorld) -> None:
    """A receive that is cancelled in the moment its directives arrive hands them to the next receiver."""

    class LastMoment(HttpTransport):
        async def _poll(self, step_types: Sequence[str], limit: int, wait: float) -> list[Lent]:
            found = await super()._poll(step_types, limit, wait)
            asyncio.get_running_loop().call_soon(receiving.cancel)
            return found

    job = await world.offer()
    url = f"http://127.0.0.1:{server.port}"
    unlucky = LastMoment(url, clock=now_ms, sleep=asyncio.sleep, chance=lambda: 0.5)
    receiving = asyncio.create_task(unlucky.receive(["OCR"], limit=1, wait=PATIENCE))
    with pytest.raises(asyncio.CancelledError):
        await receiving
    await unlucky.close()
    (lent,) = await world.transport.receive(["OCR"], limit=1, wait=PATIENCE)
    assert (directive_of(lent).job_id, lent.delivery_count) == (job, 2)


async def test_a_reply_outlives_a_killed_lucius(tmp_path: Path) -> None:
    """Lucius is killed and started again while a RESULT is being repeated: it arrives, once."""
    tried = asyncio.Event()

    async def pause(seconds: float) -> None:
        tried.set()
        await asyncio.sleep(seconds)

    with Server(tmp_path, "--services", "none") as server:
        server.start()
        transport = http_transport(f"http://127.0.0.1:{server.port}", sleep=pause, patience=120.0)
        job = submit(server)
        (lent,) = await transport.receive(["OCR"], limit=1, wait=PATIENCE)
        directive = directive_of(lent)
        server.kill()
        reply = asyncio.create_task(transport.reply(directive, done(directive)))
        await tried.wait()
        await asyncio.to_thread(server.start)
        assert (await reply).verdict == "accepted"
        assert (await transport.reply(directive, done(directive))).verdict == "duplicate"
        await transport.close()
        with server.calling() as caller:
            assert caller.get(f"/v1/jobs/{job}")[1]["state"] == "SUCCEEDED"


async def test_nobody_there_is_unavailable() -> None:
    """Without a Lucius everything says `Unavailable` and where it looked."""
    transport = http_transport(f"http://127.0.0.1:{free_port()}", clock=lambda: NOW, patience=0.0)
    with pytest.raises(Unavailable, match=r"No Lucius answers at http://127\.0\.0\.1"):
        await transport.receive(["OCR"], limit=1, wait=0)
    await transport.close()


async def test_keys_are_asked_for_and_named(tmp_path: Path) -> None:
    """No key, a wrong key and a key for other step types get a clear refusal; the right one works."""
    with Server(tmp_path, "--services", "none") as server:
        right, other = _key(server, "OCR"), _key(server, "SIS")
        server.start()
        url = f"http://127.0.0.1:{server.port}"
        refused: dict[str | None, type[Exception]] = {
            None: Unauthenticated, "made-up": Unauthenticated, other: Forbidden
        }  # fmt: skip
        for key, error in refused.items():
            transport = http_transport(url, key)
            with pytest.raises(error):
                await transport.receive(["OCR"], limit=1, wait=PATIENCE)
            await transport.close()
        transport = http_transport(url, right)
        assert await transport.receive(["OCR"], limit=1, wait=0) == []
        await transport.close()


def _key(server: Server, step_type: str) -> str:
    command = [
        sys.executable, "-m", "lucius.entrypoints.cli", "keys", "create", step_type, "--role", "service",
        "--step-type", step_type, "--data", str(server.data), "--json",
    ]  # fmt: skip
    said = subprocess.run(command, capture_output=True, check=True)
    return str(json.loads(said.stdout)["key"])
