"""The scripted ledger: directives waiting and lent, every attempt, and everything the service did.

    put ──▶ waiting ──take──▶ lent ──settle──▶ settled
                ▲               │
                └── abandon, or the lock ran out while its attempt was open

`until` waits for something to become true and is woken by every change; nothing polls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
import orjson

from lucius.conformance.attempts import KINDS, Attempt, Said, reported_by
from lucius.conformance.requests import ReceiveRequest, SettlementItem
from lucius.errors import Unauthenticated, Unavailable
from lucius.wire.messages import ReplyMessage
from lucius.wire.timestamps import iso

WRONG_TOKEN = "The callback token does not belong to this attempt; send the one from its directive unchanged."  # noqa: S105 - a sentence


class Parcel:
    """One directive on its way: the bytes, and what became of each time it was lent."""

    def __init__(self, body: bytes, step_type: str, tenant_id: str, attempt: Attempt | None) -> None:
        self.body = body
        self.step_type = step_type
        self.tenant_id = tenant_id
        self.attempt = attempt
        """None: nobody can read it."""
        self.count = 0
        self.lock = ""
        self.until = 0.0
        self.asked_at = 0.0
        """When the request that took it had begun."""
        self.taken_at: float | None = None
        self.outcome: str | None = None
        """How the service gave it back."""
        self.lapses = 0
        """How often its lock ran out before it was settled."""


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """Something the service sent that Lucius does not take."""

    path: str
    status: int
    why: str
    leak: bool = False
    """It gave a secret to somebody whom it does not concern."""

    def told(self) -> str:
        """In a sentence."""
        return (
            f"POST {self.path}: {self.why}"
            if self.leak
            else f"POST {self.path} got {self.status}: {self.why}"
        )


class Ledger:
    """What the kit knows. One for each run."""

    def __init__(
        self, *, clock: Callable[[], int], new_id: Callable[[], str], lock_seconds: float, key: str
    ) -> None:
        self.clock = clock
        self.new_id = new_id
        self.lock_seconds = lock_seconds
        self.key = key
        self.waiting: list[Parcel] = []
        self.lent: dict[str, Parcel] = {}
        self.parcels: list[Parcel] = []
        self.attempts: dict[str, Attempt] = {}
        """By callback token."""
        self.asked: list[ReceiveRequest] = []
        self.faults: list[Fault] = []
        self.away: dict[str, int] = {}
        """How many of the next calls of a route are answered 503."""
        self.generation = 0
        """Raised when a process ends: whoever asked before gets nothing."""
        self.reached_as: str | None = None
        """The address by which the service knows the kit: where its callbacks go."""
        self.closed = False
        self._watchers: set[asyncio.Event] = set()

    def put(self, parcel: Parcel) -> Parcel:
        """Let somebody take a directive."""
        if parcel not in self.parcels:
            self.parcels.append(parcel)
        self.waiting.append(parcel)
        self.changed()
        return parcel

    def take(self, asked: ReceiveRequest, asked_at: float) -> list[Parcel]:
        """Lend what fits, the oldest first."""
        self._take_back()
        fits = [
            one
            for one in self.waiting
            if (not asked.step_types or one.step_type in asked.step_types)
            and (asked.tenants is None or one.tenant_id in asked.tenants)
        ][: asked.max]
        now = self.now()
        for one in fits:
            self.waiting.remove(one)
            one.count, one.lock, one.until = one.count + 1, self.new_id(), now + self.lock_seconds
            one.asked_at, one.taken_at, one.outcome = asked_at, now, None
            self.lent[one.lock] = one
            if one.attempt is not None:
                one.attempt.lent_at.append(now)
        if fits:
            self.changed()
        return fits

    def lent_line(self, parcel: Parcel) -> bytes:
        """One line of the answer to `receive`; the directive byte for byte."""
        until = self.clock() + int(self.lock_seconds * 1000)
        head = {"lock_token": parcel.lock, "locked_until": iso(until), "delivery_count": parcel.count}
        return orjson.dumps(head)[:-1] + b',"directive":' + parcel.body + b"}"

    def settle(self, one: SettlementItem) -> bool:
        """Take a directive back; False when the lock is lost."""
        parcel = self.lent.pop(one.lock_token, None)
        if parcel is None:
            return False
        parcel.outcome = one.outcome
        if one.outcome == "abandon" and parcel.attempt is not None and parcel.attempt.result is None:
            self.waiting.append(parcel)
        held = self.now() < parcel.until
        over = parcel.attempt is not None and parcel.attempt.result is not None
        self.changed()
        return held and not over

    def renew(self, lock_token: str) -> int | None:
        """Keep a lock; when it ends now, or None when it is lost."""
        parcel = self.lent.get(lock_token)
        if parcel is None or self.now() >= parcel.until:
            return None
        parcel.until = self.now() + self.lock_seconds
        return self.clock() + int(self.lock_seconds * 1000)

    def report(self, reply: ReplyMessage, token: str) -> dict[str, Any]:
        """Judge one reply; raises `Unauthenticated` or, where the case says so, `Unavailable`."""
        attempt = self.attempts.get(token)
        named = {
            "jobId": reply.job_id, "stepId": reply.step_id, "tenant_id": reply.tenant_id,
            "attempt_no": reply.attempt_no, "lease_id": reply.lease_id,
        }  # fmt: skip
        if attempt is None or attempt.ids != named:
            whose = "a token that Lucius never gave" if attempt is None else f"the token of {attempt.name}"
            about = f"attempt {reply.attempt_no} of job {reply.job_id} (lease {reply.lease_id})"
            self.note(
                Fault(path="/v1/callbacks", status=401, why=f"{whose} with a reply about {about}", leak=True)
            )
            raise Unauthenticated(WRONG_TOKEN)
        kind, reported = KINDS[type(reply).__name__], reported_by(reply)
        answer = attempt.verdict(kind, reported)
        if attempt.refusals.get(kind, 0) > 0:
            attempt.refusals[kind] -= 1
            answer = "503"
        elif answer == "accepted" and reported is not None:
            attempt.result = reported
        attempt.said.append(Said(kind=kind, at=self.now(), answer=answer, reported=reported))
        self.changed()
        if answer == "503":
            raise Unavailable("The kit withholds this answer on purpose.", retry_after=1)
        return self._shown(attempt, answer)

    def withhold(self, route: str) -> None:
        """Raise `Unavailable` if the case wants this route to be away."""
        if self.away.get(route, 0) > 0:
            self.away[route] -= 1
            self.changed()
            raise Unavailable("The kit withholds this answer on purpose.", retry_after=1)

    def note(self, fault: Fault) -> None:
        """Remember something that was refused."""
        self.faults.append(fault)
        self.changed()

    def clear(self) -> None:
        """End what a case left behind."""
        self.waiting.clear()
        self.lent.clear()
        self.away.clear()
        for attempt in self.attempts.values():
            attempt.terminal = True
            attempt.refusals.clear()
        self.changed()

    def next_lapse(self) -> float:
        """Seconds until the next lock runs out."""
        ends = [parcel.until for parcel in self.lent.values()]
        return max(0.01, min(ends) - self.now()) if ends else self.lock_seconds

    def void(self) -> None:
        """The process that asked is gone: what it asked for goes to the next one."""
        self.generation += 1
        self.changed()

    def close(self) -> None:
        """The run is over: nobody waits any longer."""
        self.closed = True
        self.changed()

    def changed(self) -> None:
        """Wake whoever waits."""
        for watcher in self._watchers:
            watcher.set()

    async def until(self, holds: Callable[[], bool], within: float) -> bool:
        """Wait until something holds; False if it does not in time."""
        watcher = asyncio.Event()
        self._watchers.add(watcher)
        try:
            async with asyncio.timeout(within):
                while not holds():
                    watcher.clear()
                    await watcher.wait()
        except TimeoutError:
            return holds()
        finally:
            self._watchers.discard(watcher)
        return True

    def now(self) -> float:
        """Seconds that never run backwards."""
        return asyncio.get_running_loop().time()

    def _take_back(self) -> None:
        """Locks that ran out: what is still open waits for somebody else."""
        now = self.now()
        for lock, parcel in list(self.lent.items()):
            if now >= parcel.until:
                del self.lent[lock]
                parcel.lapses += 1
                if (
                    parcel.attempt is not None
                    and parcel.attempt.result is None
                    and not parcel.attempt.terminal
                ):
                    self.waiting.append(parcel)

    def _shown(self, attempt: Attempt, verdict: str) -> dict[str, Any]:
        over = attempt.result is not None or attempt.terminal
        ends = self.clock() + int(attempt.lease * 1000)
        return {
            "verdict": verdict,
            "jobId": attempt.job_id,
            "stepId": attempt.ids["stepId"],
            "state": attempt.result.status if attempt.result is not None else "IN_PROGRESS",
            "step_state": attempt.result.status if attempt.result is not None else "IN_PROGRESS",
            "lease_expires_at": None if over else iso(ends),
            "cancel_requested": attempt.cancel_requested,
        }
