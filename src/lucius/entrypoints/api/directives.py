"""Directives over HTTP: receive (long poll), settle, renew."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import orjson

from lucius.entrypoints.api.requests import ReceiveRequest, RenewRequest, SettleRequest
from lucius.entrypoints.http.incoming import ClientGoneError, json_answer
from lucius.entrypoints.http.strict import read
from lucius.ports.bus import Settle
from lucius.security.redaction import redact_text
from lucius.wire.timestamps import iso

if TYPE_CHECKING:
    from lucius.entrypoints.api.door import Call
    from lucius.entrypoints.http.incoming import Receive
    from lucius.entrypoints.http.problems import Answer
    from lucius.ports.bus import Delivery
    from lucius.usecases.directives import Wanted


async def receive(call: Call) -> Answer:
    """`POST /v1/directives:receive`."""
    principal = await call.principal()
    asked = read(await call.body(), ReceiveRequest)
    desk = call.services.directives
    wanted = desk.wanted(principal, asked.step_types, asked.tenants)
    found = await desk.take(wanted, asked.max)
    if not found and asked.wait_seconds:
        found = await _while_listening(call, wanted, asked)
    return json_answer(200, b'{"directives":[' + b",".join(map(_lent, found)) + b"]}")


async def settle(call: Call) -> Answer:
    """`POST /v1/directives:settle`."""
    principal = await call.principal()
    asked = read(await call.body(), SettleRequest).settlements
    settlements = [
        Settle(lock_token=one.lock_token, outcome=one.outcome, reason=redact_text(one.reason))
        for one in asked
    ]
    held = await call.services.directives.settle(principal, settlements)
    results = [
        {"lock_token": one.lock_token, "result": "ok" if ok else "lost"}
        for one, ok in zip(asked, held, strict=True)
    ]
    return json_answer(200, orjson.dumps({"results": results}))


async def renew(call: Call) -> Answer:
    """`POST /v1/directives:renew`."""
    principal = await call.principal()
    tokens = read(await call.body(), RenewRequest).lock_tokens
    until = await call.services.directives.renew(principal, tokens)
    results = [
        {
            "lock_token": token,
            "result": "lost" if end is None else "ok",
            "locked_until": None if end is None else iso(end),
        }
        for token, end in zip(tokens, until, strict=True)
    ]
    return json_answer(200, orjson.dumps({"results": results}))


def _lent(delivery: Delivery) -> bytes:
    """One line of the answer. The directive goes out byte for byte as it was stored."""
    head = orjson.dumps(
        {
            "lock_token": delivery.lock_token,
            "locked_until": iso(delivery.locked_until),
            "delivery_count": delivery.delivery_count,
        }
    )
    return head[:-1] + b',"directive":' + delivery.message.body + b"}"


async def _while_listening(call: Call, wanted: Wanted, asked: ReceiveRequest) -> list[Delivery]:
    """Wait for directives, but only as long as somebody is there to take them and Lucius stays."""
    services = call.services
    async with asyncio.TaskGroup() as group:
        work = group.create_task(services.directives.await_some(wanted, asked.max, asked.wait_seconds))
        gone = group.create_task(_hung_up(call.receive))
        end = group.create_task(services.events_hub.wait_closed())
        try:
            await asyncio.wait((work, gone, end), return_when=asyncio.FIRST_COMPLETED)
        finally:
            left = gone.done()
            for task in (work, gone, end):
                task.cancel()
    found = [] if work.cancelled() else work.result()
    if left:
        await services.directives.give_back(found)  # or it would wait for its lock to run out
        raise ClientGoneError
    return found


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
