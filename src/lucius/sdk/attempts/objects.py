"""Attempts as objects: a bucket of S3, a container of Azure Blob, or a directory.

For services that have an object store and nothing else to share, and few attempts a second. A SQLite file
is quicker on one machine, an Azure table cheaper for many; on a directory nothing is synced to the disk,
so that a power cut may cost the last attempts.

State, below the prefix, with an id hashed of the key:

    open/{id}/claim       the key, the directive, the first owner and its end; written once
    open/{id}/own-00001   who keeps it now and until when: each extension and each takeover is the next number
    done/{id}/result      the result; written once
    done/{id}/told-{time} Lucius knows: whatever is left below open/{id} is rubbish

Everything rests on creating an object that is not there yet: of two writers one wins. Older `own` objects
are removed by who wrote the next one; so a writer that slept may create a number that was used before,
which is why it looks at the list afterwards: it has won only if its object is the last one. That needs a
store whose lists are consistent, as those of S3 and Azure are.

What it costs: a claim 2 requests, a heartbeat 5, a result 2, told about 6. `take_overdue` and `forget` list
what is open and read one object each; `forget` also lists what was told.

How it fails: a store that is away is `Unavailable`. A lost answer is settled by reading again: each object
carries the id of the call that wrote it.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from lucius.sdk.attempts.bucket import Bucket, contended
from lucius.sdk.serving.ports import AttemptKey, Found, Overdue

if TYPE_CHECKING:
    from obstore.store import ObjectStore

AT_ONCE: Final = 16
"""Attempts looked at in parallel."""
TRIES: Final = 20
"""Somebody else may be quicker; so many times in a row they are not."""


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """The first entry of an attempt."""

    key: AttemptKey
    owner: str
    until: int
    directive: bytes
    call: str


class Own(msgspec.Struct, frozen=True, kw_only=True):
    """A later entry: who keeps the attempt, and until when."""

    owner: str
    until: int
    call: str


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """An open attempt as it stands: its last entry, and that one's number (0 for the claim)."""

    number: int
    entry: Claim | Own


class ObjectAttempts:
    """`Attempts` over an obstore store, below a prefix. `new_id` names calls; it must not repeat itself."""

    def __init__(
        self,
        store: ObjectStore,
        prefix: str = "attempts",
        *,
        new_id: Callable[[], str] = lambda: secrets.token_hex(16),
    ) -> None:
        self._bucket = Bucket(store, prefix)
        self._new_id = new_id
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def claim(self, key: AttemptKey, *, owner: str, until: int, now: int, directive: bytes) -> Found:
        """Begin an attempt, or learn that it was begun before."""
        del now  # nothing asks for it: an end is kept by its `until`
        name = _name(key)
        claim = Claim(key=key, owner=owner, until=until, directive=directive, call=self._new_id())
        place = f"open/{name}/claim"
        begun = await self._bucket.create(place, msgspec.json.encode(claim))
        ended = await self._bucket.names(f"done/{name}")
        if begun and not ended:
            return Found(claimed=True)
        if begun:  # it was told, and its old claim is gone: ours must go too
            await self._bucket.delete(place)
        return Found(claimed=False, result=await self._bucket.read(f"done/{name}/result"))

    async def extend(self, keys: Sequence[AttemptKey], *, owner: str, until: int) -> list[bool]:
        """Say that `owner` is alive."""

        async def one(name: str) -> bool:
            async with self._gate:
                for _ in range(TRIES):
                    held = await self._held(name)
                    if held is None or held.entry.owner != owner:
                        return False
                    if await self._append(name, held, owner, until):
                        return True
            raise contended(name)

        names = [_name(key) for key in keys]
        single = list(dict.fromkeys(names))
        answers = dict(zip(single, await asyncio.gather(*map(one, single)), strict=True))
        return [answers[name] for name in names]

    async def finish(self, key: AttemptKey, *, owner: str, result: bytes) -> bytes:
        """Store the RESULT; the one that stands."""
        del owner  # whoever is first: a slow owner's result is as good as its taker's verdict
        name = _name(key)
        if not await self._bucket.exists(f"open/{name}/claim") and not await self._over(name):
            return result
        if await self._bucket.create(f"done/{name}/result", result):
            return result
        stands = await self._bucket.read(f"done/{name}/result")
        return result if stands is None else stands

    async def told(self, key: AttemptKey, *, now: int) -> None:
        """Lucius has heard the result; what was open is removed."""
        name = _name(key)
        if not await self._bucket.exists(f"open/{name}/claim"):
            return
        if not await self._over(name):
            await self._bucket.create(f"done/{name}/told-{now:015d}", b"")
        await self._sweep(name)

    async def take_overdue(self, *, owner: str, now: int, until: int, limit: int) -> list[Overdue]:
        """Take over what is overdue, the longest overdue first."""
        taken: list[Overdue] = []
        if limit <= 0:
            return taken
        for name, held in await self._open():
            if held.entry.until > now or len(taken) == limit:
                break
            if await self._over(name):
                await self._sweep(name)
            elif await self._append(name, held, owner, until):
                raw = await self._bucket.read(f"open/{name}/claim")
                if raw is None:  # told this very moment
                    continue
                claim = msgspec.json.decode(raw, type=Claim)
                result = await self._bucket.read(f"done/{name}/result")
                taken.append(Overdue(key=claim.key, directive=claim.directive, result=result))
        return taken

    async def forget(self, *, before: int) -> int:
        """Drop what was told, or left alone, before a time."""
        dropped = 0
        ended = _by_name(await self._bucket.names("done"))
        for name, parts in ended.items():
            times = [int(part.removeprefix("told-")) for part in parts if part.startswith("told-")]
            if times and min(times) < before:
                await self._sweep(name)
                await self._drop(name, parts)
                dropped += 1
        for name, held in await self._open():
            if held.entry.until >= before:
                break
            if not await self._over(name) and await self._append(name, held, "", 0):  # nobody's from now on
                await self._drop(name, {"result"})
                await self._sweep(name)
                dropped += 1
        return dropped

    async def close(self) -> None:
        """Refuse from now on; the store itself has nothing to close."""
        self._bucket.close()

    # --- entries

    async def _append(self, name: str, held: Held, owner: str, until: int) -> bool:
        """Write the next entry; False if somebody else wrote one meanwhile."""
        number = held.number + 1
        entry = Own(owner=owner, until=until, call=self._new_id())
        if not await self._bucket.create(_own(name, number), msgspec.json.encode(entry)):
            return False
        parts = await self._bucket.names(f"open/{name}")
        last = max(map(_number, parts), default=0)
        if last == number:
            old = [part for part in parts if 0 < _number(part) < number]
            await self._bucket.delete(*(f"open/{name}/{part}" for part in old))
        return last == number

    async def _held(self, name: str, parts: set[str] | None = None) -> Held | None:
        """Who keeps an attempt; None if it is not open."""
        for _ in range(TRIES):
            parts = parts if parts is not None else await self._bucket.names(f"open/{name}")
            if "claim" not in parts:
                return None
            number = max(map(_number, parts))
            raw = await self._bucket.read(_own(name, number) if number else f"open/{name}/claim")
            if raw is not None:
                kind: type[Claim | Own] = Own if number else Claim
                entry = msgspec.json.decode(raw, type=kind)
                return Held(number=number, entry=entry)
            parts = None  # a newer one is there
        raise contended(name)

    async def _open(self) -> list[tuple[str, Held]]:
        """Everything open, the one that ends first in front; what lost its claim is removed."""
        groups = _by_name(await self._bucket.names("open"))

        async def one(name: str, parts: set[str]) -> tuple[str, Held] | None:
            async with self._gate:
                held = await self._held(name, parts)
                if held is None:  # an entry that came after the end
                    await self._bucket.delete(*(f"open/{name}/{part}" for part in parts))
                return (name, held) if held is not None else None

        found = await asyncio.gather(*(one(name, parts) for name, parts in groups.items()))
        return sorted((each for each in found if each is not None), key=lambda each: each[1].entry.until)

    async def _over(self, name: str) -> bool:
        """Whether Lucius knows."""
        return any(part.startswith("told-") for part in await self._bucket.names(f"done/{name}"))

    async def _sweep(self, name: str) -> None:
        """Remove what is open of an attempt, its claim last: without one the rest is rubbish."""
        parts = sorted(await self._bucket.names(f"open/{name}"), key=lambda part: part == "claim")
        await self._bucket.delete(*(f"open/{name}/{part}" for part in parts))

    async def _drop(self, name: str, parts: set[str]) -> None:
        """Remove what is done of an attempt, the word that it was told last."""
        ordered = sorted(parts, key=lambda part: part.startswith("told-"))
        await self._bucket.delete(*(f"done/{name}/{part}" for part in ordered))


def _name(key: AttemptKey) -> str:
    """An id that fits into any path, however long or strange the key is."""
    return hashlib.sha256(msgspec.json.encode(key)).hexdigest()[:40]


def _own(name: str, number: int) -> str:
    return f"open/{name}/own-{number:05d}"


def _number(part: str) -> int:
    return int(part.removeprefix("own-")) if part.startswith("own-") else 0


def _by_name(places: set[str]) -> dict[str, set[str]]:
    """Places below `open` or `done` as the parts of each attempt."""
    groups: dict[str, set[str]] = {}
    for place in places:
        name, _, part = place.partition("/")
        groups.setdefault(name, set()).add(part)
    return groups
