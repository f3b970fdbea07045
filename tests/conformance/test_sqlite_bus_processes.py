from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import pytest

from lucius.adapters.buses.sqlite import SqliteBus
from lucius.errors import Unavailable
from lucius.ports.bus import Delivery
from tests.conformance.bus_process import BATCH, OCR, complete, message, new_bus

T = TypeVar("T")
Start = Callable[..., Awaitable[Process]]
WITHIN = 60.0
ROOT = Path(__file__).parents[2]


async def _soon(work: Awaitable[T]) -> T:
    """Bounded, generously: a test that waits in vain must end."""
    return await asyncio.wait_for(work, WITHIN)


async def _line(process: Process) -> str:
    """The next thing it says; nothing when it has ended."""
    assert process.stdout is not None
    return (await _soon(process.stdout.readline())).decode().strip()


async def _lines(process: Process) -> AsyncIterator[str]:
    while line := await _line(process):
        yield line


async def _kill(process: Process) -> None:
    if process.returncode is None:
        process.kill()
    await _soon(process.wait())


@pytest.fixture
def path(tmp_path: Path) -> str:
    """Where the bus is."""
    return str(tmp_path / "bus.db")


@pytest.fixture
async def start(path: str) -> AsyncIterator[Start]:
    """Start processes at the bus; all are gone afterwards."""
    started: list[Process] = []

    async def one(verb: str, *arguments: str) -> Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.conformance.bus_process", verb, path, *arguments,
            stdin=PIPE, stdout=PIPE, cwd=ROOT,
        )  # fmt: skip
        started.append(process)
        return process

    yield one
    for process in started:
        await _kill(process)
        if process.stdin is not None:
            process.stdin.close()
            await process.stdin.wait_closed()


async def _everything(bus: SqliteBus) -> list[str]:
    """Take and complete until nothing waits."""
    seen: list[str] = []
    while got := await bus.receive(OCR, limit=50, wait=0):
        assert all(await bus.settle(complete(got)))
        seen += [each.message.message_id for each in got]
    return seen


async def test_each_message_goes_to_one_receiver(start: Start) -> None:
    """Two publishers and two receivers on one new file: all is delivered, and nothing twice."""
    receivers = [await start("receive"), await start("receive")]
    publishers = [await start("publish", name, "30") for name in ("a", "b")]
    total = 2 * 30 * BATCH
    seen: list[str] = []
    enough = asyncio.Event()

    async def read(process: Process) -> None:
        async for line in _lines(process):
            seen.append(line)
            if len(seen) >= total:
                enough.set()

    async with asyncio.TaskGroup() as group:
        for receiver in receivers:
            group.create_task(read(receiver))
        for publisher in publishers:
            assert len([line async for line in _lines(publisher)]) == 30
        await _soon(enough.wait())
        for receiver in receivers:
            await _kill(receiver)
    expected = {f"{name}-{number}-{part}" for name in "ab" for number in range(30) for part in range(BATCH)}
    assert Counter(seen) == Counter(expected)


async def test_what_a_killed_receiver_held_comes_back(start: Start, path: str) -> None:
    """A receiver killed with messages in its hands loses none: they come again when its locks run out."""
    bus = new_bus(path)
    await bus.publish([message(f"m-{number}") for number in range(10)])
    holder = await start("hold", "1.5")
    held = {line async for line in _until(holder, "HELD")}
    assert held == {f"m-{number}" for number in range(10)}
    await _kill(holder)
    again: list[Delivery] = []
    while len(again) < 10:
        again += await _soon(bus.receive(OCR, limit=100, wait=30))
    assert {each.message.message_id for each in again} == held
    assert {each.delivery_count for each in again} == {2}
    await bus.close()


async def _until(process: Process, end: str) -> AsyncIterator[str]:
    while (line := await _line(process)) != end:
        assert line, f"it ended without saying {end}"
        yield line


async def test_what_a_killed_publisher_was_answered_is_there(start: Start, path: str) -> None:
    """Every answered publish survives a kill in mid-stream, and the one under way is whole or not there."""
    publisher = await start("publish", "a", "100000")
    answered = [await _line(publisher) for _ in range(20)]
    publisher.kill()
    answered += [line async for line in _lines(publisher)]
    bus = new_bus(path)
    batches = Counter(name.rpartition("-")[0] for name in await _everything(bus))
    assert set(batches.values()) == {BATCH}
    assert set(answered) <= set(batches)
    assert len(batches) - len(answered) <= 1
    await bus.close()


async def test_a_locked_file_is_unavailable_for_a_while(start: Start, path: str) -> None:
    """While another process holds the file nothing is half done and reading goes on; then all goes on."""
    bus = new_bus(path, patience=0.1)
    await bus.publish([message("before"), message("held")])
    [one] = await bus.receive(OCR, limit=1, wait=0)
    locker = await start("lock")
    assert await _line(locker) == "LOCKED"
    for work in (bus.publish([message("refused")]), bus.settle(complete([one])), bus.withdraw(["before"])):
        with pytest.raises(Unavailable) as refusal:
            await _soon(work)
        assert (refusal.value.code, refusal.value.retryable) == ("BUS_UNAVAILABLE", True)
    assert await bus.backlog() == {"ocr": 1}
    patient = new_bus(path)
    waiting = asyncio.create_task(patient.publish([message("after")]))
    assert await bus.unread(["after"]) == [False]
    assert locker.stdin is not None
    locker.stdin.write(b"go\n")
    await _soon(waiting)
    assert await bus.settle(complete([one])) == [True]
    await patient.close()
    assert {one.message.message_id, *await _everything(bus)} == {"before", "held", "after"}
    await bus.close()
