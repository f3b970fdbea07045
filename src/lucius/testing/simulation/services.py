"""Platform services: outside of Lucius, alive while it is down, and not always well.

A service answers a directive once per attempt and lease; the same directive again gets the same answer
again. What it does is drawn: it may vanish before or after its ACK, answer late, twice or against itself,
report a failure, or skip the ACK. Faults that cost an attempt come out of the plan's budget.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.core.job import Fault
from lucius.core.routing import topics
from lucius.errors import Unavailable
from lucius.ports.bus import Message, Settle, Settlement, Subscription
from lucius.testing.simulation.life import GoneError
from lucius.testing.simulation.loop import nap
from lucius.wire.messages import AckMessage, HeartbeatMessage, ResultMessage, decode_directive, encode
from lucius.wire.replies import command_of

if TYPE_CHECKING:
    from lucius.ports.bus import Delivery
    from lucius.testing.simulation.schedule import World
    from lucius.wire.messages import DirectiveMessage, ReplyMessage

READER = Subscription(name="services", topics=topics())
_COSTLY = ("vanish", "ack only", "late ack", "late result", "retry", "change of mind")
_CHEAP = ("no ack", "twice", "conflict", "result first", "beat", "abandon")
_STATUS = {"retry": "FAILED_RETRY", "change of mind": "FAILED_RETRY", "final": "FAILED_FINAL"}
_AT = "2026-01-27T10:00:00Z"


class Services:
    """All of them."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._plan = world.plan
        self._known: dict[tuple[str, str, int, str], list[ReplyMessage]] = {}

    async def run(self) -> None:
        """Take directives for ever, from whichever Lucius is up."""
        while True:
            life = self._world.life
            if life is None:
                await nap(0.1)
                continue
            try:
                deliveries = await life.bus.receive(READER, limit=4, wait=5.0)
            except Unavailable:
                await nap(0.1)
                continue
            for delivery in deliveries:
                self._world.loop.start(self._handle(delivery))

    async def _handle(self, delivery: Delivery) -> None:
        directive = decode_directive(delivery.message.body)
        key = (directive.job_id, directive.step_id, directive.attempt_no, directive.lease_id)
        behaviour = self._behaviour(directive)
        if behaviour == "abandon" and key not in self._known:
            await self._settle(delivery, Settlement.ABANDON)
            return
        await self._settle(delivery, Settlement.COMPLETE)
        if key in self._known:
            for reply in self._known[key]:  # the answer is stored: give it again
                await self._send(directive, reply, "again")
            return
        self._known[key] = []
        await self._work(directive, behaviour, self._known[key])

    def _behaviour(self, directive: DirectiveMessage) -> str:
        plan = self._plan
        if plan.chance(plan.service_faults):
            if plan.random.random() < 0.5:
                return plan.random.choice(_CHEAP)
            if not plan.kind and plan.random.random() < 0.1:
                return "final"
            if plan.fault(directive.job_id, directive.step_id, 1.0):
                return plan.random.choice(_COSTLY)
        return "well"

    async def _work(self, directive: DirectiveMessage, behaviour: str, answers: list[ReplyMessage]) -> None:
        draw = self._plan.random
        if behaviour == "vanish":
            return
        if behaviour == "late ack":
            await nap(draw.uniform(1.5, 4.0))
        result = _result(directive, behaviour)
        if behaviour == "result first":
            await self._answer(directive, result, answers)
        if behaviour != "no ack":
            await self._answer(directive, _ack(directive), answers)
        if behaviour == "ack only":
            return
        if behaviour == "beat":
            await nap(draw.uniform(0.0, 2.0))
            await self._send(directive, _beat(directive), "beat")
        least, most = (5.0, 9.0) if behaviour == "late result" else (0.0, self._plan.work)
        await nap(draw.uniform(least, most))
        if behaviour != "result first":
            await self._answer(directive, result, answers)
        if behaviour == "twice":
            await self._send(directive, result, "twice")
        if behaviour in {"conflict", "change of mind"}:
            await self._send(directive, _result(directive, "other"), "other")

    async def _answer(
        self, directive: DirectiveMessage, reply: ReplyMessage, answers: list[ReplyMessage]
    ) -> None:
        answers.append(reply)
        await self._send(directive, reply, "")

    async def _send(self, directive: DirectiveMessage, reply: ReplyMessage, suffix: str) -> None:
        """Until somebody takes it: over the bus, or as a callback."""
        by_bus = self._plan.random.random() < 0.6
        while True:
            life = self._world.life
            try:
                if life is None:
                    await nap(0.2)
                elif by_bus:
                    await life.bus.publish([_message(directive, reply, suffix)])
                    return
                else:
                    await life.call(
                        lambda engine: engine.report(reply.tenant_id, reply.job_id, command_of(reply))
                    )
                    return
            except (Unavailable, GoneError):
                await nap(0.2)

    async def _settle(self, delivery: Delivery, outcome: Settlement) -> None:
        life = self._world.life
        if life is not None:
            try:
                await life.bus.settle([Settle(lock_token=delivery.lock_token, outcome=outcome)])
            except Unavailable:
                return


def _ack(directive: DirectiveMessage) -> AckMessage:
    return AckMessage(timestamp=_AT, **_names(directive))  # type: ignore[arg-type]


def _beat(directive: DirectiveMessage) -> HeartbeatMessage:
    return HeartbeatMessage(timestamp=_AT, progress=0.5, **_names(directive))  # type: ignore[arg-type]


def _result(directive: DirectiveMessage, behaviour: str) -> ResultMessage:
    status = _STATUS.get(behaviour, "SUCCEEDED")
    name = behaviour.replace(" ", "-")  # two results of one attempt differ by it
    return ResultMessage(
        status=status,  # type: ignore[arg-type]
        timestamp=_AT,
        output_ref={"uri": f"s3://out/{directive.step_id}/{directive.attempt_no}/{name}"}
        if status == "SUCCEEDED"
        else None,
        error=None if status == "SUCCEEDED" else Fault(code="SERVICE", message=behaviour),
        **_names(directive),  # type: ignore[arg-type]
    )


def _names(directive: DirectiveMessage) -> dict[str, object]:
    return {
        "job_id": directive.job_id,
        "step_id": directive.step_id,
        "tenant_id": directive.tenant_id,
        "attempt_no": directive.attempt_no,
        "lease_id": directive.lease_id,
    }


def _message(directive: DirectiveMessage, reply: ReplyMessage, suffix: str) -> Message:
    subject = type(reply).__name__.removesuffix("Message").upper()
    return Message(
        message_id=f"{directive.job_id}.{directive.step_id}.{directive.lease_id}.{subject}.{suffix}",
        topic=f"global-bus-replies-p{directive.lane}",
        subject=subject,
        tenant_id=directive.tenant_id,
        body=encode(reply),
    )
