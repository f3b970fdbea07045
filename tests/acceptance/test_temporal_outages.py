"""A part of option B stays away for longer than any service may be silent: nobody pays for it but time."""

from __future__ import annotations

import threading
import time
from contextlib import closing, contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING

import apsw
import pytest

from lucius.entrypoints.http.readiness import MISSED
from lucius.testing.processes import Caller, await_that
from tests.acceptance.jobs import command, submit
from tests.acceptance.option_b import PATIENT, STRICT, Load, OptionB, brief, proven

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

OUTAGE = 14.0
"""Seconds: more than three times what an ACK may take by the strict protocol, and more than its lease."""
PARTS = ("invoker", "bus", "temporal")


@contextmanager
def away(world: OptionB, part: str) -> Iterator[None]:
    """A part does not answer for a block."""
    if part == "bus":
        with closing(apsw.Connection(str(world.data / "bus.db"))) as connection:
            connection.set_busy_timeout(30_000)
            connection.execute("BEGIN IMMEDIATE")
            yield
            connection.execute("ROLLBACK")
    else:
        name = "invoker-1" if part == "invoker" else part
        world.kill(name)
        yield
        world.start(name)


def use(world: OptionB, part: str, end: float) -> list[str]:
    """Submit and read until then: jobs are accepted and shown whatever is away; the jobs."""
    accepted: list[str] = []
    with Caller(world.port) as caller:
        while time.monotonic() < end:
            body = command(f"without-{part}-{len(accepted)}", kind="TRIAL", payload={})
            accepted.append(submit(caller, body))
            assert caller.get(f"/v1/jobs/{accepted[-1]}")[0] == HTTPStatus.OK
            assert caller.get("/v1/jobs?limit=5")[0] == HTTPStatus.OK
            threading.Event().wait(0.5)  # a client that is in no hurry
    return accepted


def tells(world: OptionB, part: str) -> bool:
    """Whether those who need a part say that it is away. The API takes jobs all the same."""
    with Caller(world.port) as caller:
        status, answer = caller.get("/readyz")
    assert status == HTTPStatus.OK, answer
    if part == "invoker":
        return world.worker.ready_status() == HTTPStatus.SERVICE_UNAVAILABLE
    return str(answer["components"][part]).startswith(MISSED)


def survive(world: OptionB, parts: Sequence[str], seconds: float) -> None:
    """Take parts away amid the work; afterwards every attempt was the first one, and none has failed."""
    world.start_all()
    accepted: list[str] = []
    with Load(world, wish=brief) as load:
        for part in parts:
            world.progress()
            with away(world, part):
                end = time.monotonic() + seconds
                await_that(lambda: tells(world, part), f"/readyz to tell of the {part}")  # noqa: B023
                accepted += use(world, part, end)
            world.progress()
            await_that(lambda: not tells(world, part), "/readyz to be content")  # noqa: B023
    world.settled()
    assert world.attempts().keys() == {(1, 0, 0)}
    proven(world, load, *accepted)


def test_outages_cost_no_attempt(tmp_path: Path) -> None:
    """Each away for longer than ACK timeout and lease: jobs are accepted, none fails, each step ran once."""
    with OptionB(tmp_path, STRICT) as world:
        survive(world, PARTS, OUTAGE)


@pytest.mark.proof
@pytest.mark.parametrize("part", PARTS)
def test_outages_cost_no_attempt_over_the_bus(tmp_path: Path, part: str) -> None:
    """The same with services that answer over the bus."""
    with OptionB(tmp_path, STRICT, over_http=False) as world:
        survive(world, [part], OUTAGE)


@pytest.mark.proof
@pytest.mark.parametrize("over_http", [True, False], ids=["http", "bus"])
@pytest.mark.parametrize("part", PARTS)
def test_a_minute_costs_no_attempt(tmp_path: Path, part: str, *, over_http: bool) -> None:
    """The same for a minute, with the times and budgets that protocols have by default."""
    with OptionB(tmp_path, PATIENT, over_http=over_http) as world:
        survive(world, [part], 60.0)
