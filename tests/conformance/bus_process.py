"""A process at a SQLite bus, for tests: what it has done it says line by line, so that it can be killed."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import uuid4

import apsw

from lucius.adapters.buses.sqlite import SqliteBus
from lucius.ports.bus import Delivery, Message, Settle, Settlement, Subscription

TOPICS = tuple(f"global-bus-p{lane}" for lane in range(4))
OCR = Subscription(name="ocr", topics=TOPICS, subjects=("OCR",))
BATCH = 3


def new_bus(path: str, *, lock_seconds: float = 60.0, patience: float = 30.0) -> SqliteBus:
    """A bus on real time."""
    return SqliteBus(
        path,
        topics=TOPICS,
        clock=lambda: int(time.time() * 1000),
        new_token=lambda: uuid4().hex,
        lock_seconds=lock_seconds,
        patience=patience,
    )


def message(name: str) -> Message:
    """A message for `OCR` of one of three tenants."""
    number = sum(map(ord, name))
    return Message(
        message_id=name,
        topic=TOPICS[number % 4],
        subject="OCR",
        tenant_id=f"t{number % 3}",
        body=name.encode(),
    )


def complete(deliveries: list[Delivery]) -> list[Settle]:
    """Done with all of these."""
    return [Settle(lock_token=each.lock_token, outcome=Settlement.COMPLETE) for each in deliveries]


def say(line: str) -> None:
    """Tell the test, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def publish(path: str, name: str, batches: str) -> None:
    """Publish so many batches; say each when it was answered."""
    bus = new_bus(path)
    for number in range(int(batches)):
        await bus.publish([message(f"{name}-{number}-{part}") for part in range(BATCH)])
        say(f"{name}-{number}")
    await bus.close()


async def receive(path: str) -> None:
    """Take, complete, and say what was completed, until killed."""
    bus = new_bus(path)
    while True:
        got = await bus.receive(OCR, limit=2, wait=60)
        answers = await bus.settle(complete(got))
        for delivery, done in zip(got, answers, strict=True):
            say(delivery.message.message_id if done else "LOST")


async def hold(path: str, lock_seconds: str) -> None:
    """Take what is there and do nothing with it, until killed."""
    bus = new_bus(path, lock_seconds=float(lock_seconds))
    for delivery in await bus.receive(OCR, limit=100, wait=60):
        say(delivery.message.message_id)
    say("HELD")
    await asyncio.Event().wait()


async def lock(path: str) -> None:
    """Keep everybody from writing until told otherwise."""
    connection = apsw.Connection(path)
    connection.set_busy_timeout(30_000)
    connection.execute("BEGIN IMMEDIATE")
    say("LOCKED")
    sys.stdin.readline()
    connection.execute("ROLLBACK")
    connection.close()
    say("FREE")


if __name__ == "__main__":
    verbs: dict[str, Callable[..., Coroutine[Any, Any, None]]] = {
        "publish": publish,
        "receive": receive,
        "hold": hold,
        "lock": lock,
    }
    asyncio.run(verbs[sys.argv[1]](*sys.argv[2:]))
