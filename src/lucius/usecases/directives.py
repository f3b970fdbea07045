"""Directives for services in other processes: take, settle, renew, over HTTP instead of a bus client.

State: none beyond the bus. Every step type has one subscription, `service.<STEP TYPE>`, so all
receivers of a type compete for the same messages, whatever other types each of them also takes. A
directive is lent under a lock; a receiver that vanishes loses the lock, and the directive waits again.
A receiver of several types gets a share of each, however much waits of one. Whoever knows a
lock token may settle it: tokens are random, and only the receiver was told.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from lucius.core.routing import topics as directive_topics
from lucius.errors import Forbidden, Invalid, Problem
from lucius.ports.bus import Delivery, Settle, Settlement, Subscription
from lucius.security.principal import Role, require, serves

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lucius.ports.bus import Bus
    from lucius.ports.schematics import Schematics
    from lucius.security.principal import Principal

_SURPLUS = "more arrived at once than were asked for, or nobody was there any more"


def subscription_name(step_type: str) -> str:
    """The subscription that all receivers of a step type share."""
    return f"service.{step_type}"


class Wanted:
    """What one receiver may have, after its credential was asked."""

    __slots__ = ("subscriptions", "tenants")

    def __init__(self, subscriptions: list[Subscription], tenants: frozenset[str] | None) -> None:
        self.subscriptions = subscriptions
        self.tenants = tenants


class DirectiveDesk:
    """Hands directives to services and takes them back."""

    def __init__(self, bus: Bus, schematics: Schematics, *, topics: Sequence[str] | None = None) -> None:
        self._bus = bus
        self._schematics = schematics
        self._topics = tuple(topics or directive_topics())
        self._subscriptions: dict[str, Subscription] = {}
        self._turn = 0

    def wanted(
        self, principal: Principal, step_types: Sequence[str], tenants: Sequence[str] | None = None
    ) -> Wanted:
        """What the receiver may have of what it asks for; no step types: all that it serves."""
        require(principal, Role.SERVICE)
        for tenant in tenants or ():
            require(principal, Role.SERVICE, tenant)
        types = list(dict.fromkeys(step_types)) or sorted(principal.step_types or self._known())
        for number, step_type in enumerate(types):
            self._check(principal, step_type, number)
        narrowed = principal.tenants if tenants is None else frozenset(tenants)
        return Wanted([self._subscription(step_type) for step_type in types], narrowed)

    async def take(self, wanted: Wanted, limit: int) -> list[Delivery]:
        """What waits right now."""
        return await self._sweep(wanted, limit)

    async def await_some(self, wanted: Wanted, limit: int, wait: float) -> list[Delivery]:
        """Wait up to `wait` seconds for something. Cancelled, it gives back what it was lent."""
        if len(wanted.subscriptions) == 1:
            (only,) = wanted.subscriptions
            return await self._bus.receive(only, limit=limit, wait=wait, tenants=wanted.tenants)
        try:
            found = await self._first_of(wanted, limit, wait)
        except ExceptionGroup as group:
            raise group.exceptions[0] from None
        await self.give_back(found[limit:])
        return found[:limit]

    async def _first_of(self, wanted: Wanted, limit: int, wait: float) -> list[Delivery]:
        """Wait at every subscription at once; the others stop waiting when one has something."""
        async with asyncio.TaskGroup() as group:
            tasks = [
                group.create_task(self._bus.receive(each, limit=limit, wait=wait, tenants=wanted.tenants))
                for each in wanted.subscriptions
            ]
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            except asyncio.CancelledError:
                await self.give_back(_gathered(tasks))
                raise
            finally:
                for task in tasks:
                    task.cancel()
        return _gathered(tasks)

    async def settle(self, principal: Principal, settlements: Sequence[Settle]) -> list[bool]:
        """Settle deliveries; False for each lock that is lost."""
        require(principal, Role.SERVICE)
        return await self._bus.settle(settlements)

    async def renew(self, principal: Principal, lock_tokens: Sequence[str]) -> list[int | None]:
        """Extend locks; None for each that is lost."""
        require(principal, Role.SERVICE)
        return await self._bus.renew(lock_tokens)

    async def _sweep(self, wanted: Wanted, limit: int) -> list[Delivery]:
        """A share of every type first, then the rest: none waits behind another's mountain."""
        self._turn += 1
        types = len(wanted.subscriptions) or 1
        first = self._turn % types
        turns = wanted.subscriptions[first:] + wanted.subscriptions[:first]
        share = -(-limit // types)
        found: list[Delivery] = []
        while turns and len(found) < limit:
            more = []
            for subscription in turns:
                most = min(share, limit - len(found))
                if most < 1:
                    break
                got = await self._bus.receive(subscription, limit=most, wait=0, tenants=wanted.tenants)
                found += got
                if len(got) == most:
                    more.append(subscription)
            turns, share = more, limit
        return found

    async def give_back(self, deliveries: Sequence[Delivery]) -> None:
        """Let somebody else have these."""
        if deliveries:
            await self._bus.settle(
                [
                    Settle(lock_token=each.lock_token, outcome=Settlement.ABANDON, reason=_SURPLUS)
                    for each in deliveries
                ]
            )

    def _known(self) -> frozenset[str]:
        recipes = self._schematics.current().protocols()
        return frozenset(step.step_type for recipe in recipes for step in recipe.steps)

    def _check(self, principal: Principal, step_type: str, number: int) -> None:
        if not serves(principal, step_type):
            raise Forbidden(
                f"{principal.subject} may not take directives of step type {step_type}; "
                "use a credential that serves it.",
                code="STEP_TYPE_FORBIDDEN",
            )
        # A subscription stays for good, so nobody may make them up; a key that names a type may.
        if step_type in self._subscriptions or step_type in (principal.step_types or ()):
            return
        if step_type not in self._known():
            problem = Problem(
                pointer=f"/step_types/{number}",
                code="UNKNOWN_STEP_TYPE",
                message="No protocol has a step of this type.",
            )
            raise Invalid(problem.message, code=problem.code, problems=(problem,))

    def _subscription(self, step_type: str) -> Subscription:
        found = self._subscriptions.get(step_type)
        if found is None:
            found = self._subscriptions[step_type] = Subscription(
                name=subscription_name(step_type), topics=self._topics, subjects=(step_type,)
            )
        return found


def _gathered(tasks: Sequence[asyncio.Task[list[Delivery]]]) -> list[Delivery]:
    done = [task for task in tasks if task.done() and not task.cancelled() and task.exception() is None]
    return [delivery for task in done for delivery in task.result()]
