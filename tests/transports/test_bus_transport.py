"""The bus transport, over the embedded bus."""

from __future__ import annotations

import pytest

from lucius.errors import Unavailable
from lucius.sdk.serving import replies
from lucius.sdk.serving.ports import Heard, Transport
from lucius.sdk.transports import BusTransport
from lucius.sdk.transports.bus import PREFIX, message_of
from lucius.usecases.directives import subscription_name
from tests.transports.promises import TransportPromises
from tests.transports.worlds import NOW, PATIENCE, BusWorld, directive_of, done, sample_directive


@pytest.fixture
def world() -> BusWorld:
    """A fresh bus."""
    return BusWorld()


class TestBusTransport(TransportPromises):
    """All promises of a transport."""


def test_it_is_a_transport(world: BusWorld) -> None:
    """The adapter fits the port, as far as a type checker can tell."""
    bound: Transport = BusTransport(world.bus)
    assert bound is not None


def test_both_ways_share_a_subscription() -> None:
    """Services on the bus and services over HTTP compete for the same directives."""
    assert f"{PREFIX}OCR" == subscription_name("OCR")


def test_message_ids_are_stable() -> None:
    """A repeated ACK or RESULT is one message for the bus, and each heartbeat is its own."""
    directive = sample_directive()
    assert message_of(directive, done(directive)) == message_of(directive, done(directive))
    first, second = (message_of(directive, replies.heartbeat(directive, NOW + at, 0.5)) for at in (0, 1))
    ids = {one.message_id for one in (first, second, message_of(directive, done(directive)))}
    assert len(ids) == 3
    assert all(len(one) <= 128 for one in ids)


async def test_a_repeated_result_is_read_once(world: BusWorld) -> None:
    """The bus hands on one of two equal results, on the reply topic of the directive's lane."""
    job = await world.offer()
    (lent,) = await world.transport.receive(["OCR"], limit=1, wait=PATIENCE)
    directive = directive_of(lent)
    heard = [await world.transport.reply(directive, done(directive)) for _ in range(2)]
    assert heard == [Heard(), Heard()]
    assert [message.topic for message in await world.read(job)] == ["global-bus-replies-p4"]


async def test_a_refusal_keeps_its_reason(world: BusWorld) -> None:
    """A dead letter says why it is one."""
    await world.offer()
    (lent,) = await world.transport.receive(["OCR"], limit=1, wait=PATIENCE)
    await world.transport.refuse(lent.lock_token, "not JSON")
    assert [dead.reason for dead in await world.bus.dead_letters()] == ["not JSON"]


@pytest.mark.parametrize("step_types", [["OCR"], ["OCR", "SIS"]], ids=["one", "several"])
async def test_a_closed_bus_is_unavailable(world: BusWorld, step_types: list[str]) -> None:
    """Closing the transport leaves the bus open; a closed bus is told as `Unavailable`."""
    await world.transport.close()
    job = await world.offer()
    await world.bus.close()
    directive = sample_directive(job)
    with pytest.raises(Unavailable):
        await world.transport.receive(step_types, limit=1, wait=PATIENCE)
    with pytest.raises(Unavailable):
        await world.transport.reply(directive, replies.ack(directive, NOW))
