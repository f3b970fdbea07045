"""The five things `ObjectAttempts` asks of an object store, with the store's errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import (
    AlreadyExistsError,
    BaseError,
    PermissionDeniedError,
    PreconditionError,
    UnauthenticatedError,
)

from lucius.errors import LuciusError, Unavailable

if TYPE_CHECKING:
    from obstore.store import ObjectStore


class Bucket:
    """Objects below a prefix. Places are relative to it."""

    def __init__(self, store: ObjectStore, prefix: str) -> None:
        self._store = store
        self._prefix = prefix.strip("/")
        self._closed = False

    async def create(self, place: str, raw: bytes) -> bool:
        """Write an object where none is; whether it is the one that stands.

        A store that answers 503 after it wrote makes a second try find the first one's object, and an
        answer may be lost: in doubt, what is there decides.
        """
        try:
            with _told(place):
                await obstore.put_async(self._store, self._path(place), raw, mode="create")
        except _Exists:
            return await self.read(place) == raw
        except Unavailable:
            if await self.read(place) == raw:
                return True
            raise
        return True

    async def read(self, place: str) -> bytes | None:
        """An object, or None."""
        path = self._path(place)
        try:
            with _told(place):
                answer = await obstore.get_async(self._store, path)
                return bytes(await answer.bytes_async())
        except FileNotFoundError:
            return None

    async def exists(self, place: str) -> bool:
        """Whether there is such an object."""
        path = self._path(place)
        try:
            with _told(place):
                await obstore.head_async(self._store, path)
        except FileNotFoundError:
            return False
        return True

    async def names(self, place: str) -> set[str]:
        """What lies below a place, relative to it."""
        below = self._path(place) + "/"
        with _told(place):
            found = await obstore.list(self._store, below).collect_async()
        return {each["path"].removeprefix(below) for each in found}

    async def delete(self, *places: str) -> None:
        """Remove these, one after the other; what is not there is no error."""
        for place in places:
            try:
                with _told(place):
                    await obstore.delete_async(self._store, self._path(place))
            except FileNotFoundError:
                continue

    def close(self) -> None:
        """Refuse from now on."""
        self._closed = True

    def _path(self, place: str) -> str:
        if self._closed:
            raise Unavailable("The store of attempts is closed.", code="ATTEMPTS_CLOSED")
        return f"{self._prefix}/{place}" if self._prefix else place


class _Exists(LuciusError):  # noqa: N818 - as in the error tree
    """Somebody was quicker."""


def contended(name: str) -> Unavailable:
    """Too many writers at one attempt."""
    message = f"The attempt {name} is changed by others all the time; try again."
    return Unavailable(message, code="ATTEMPTS_BUSY")


@contextmanager
def _told(place: str) -> Iterator[None]:
    try:
        yield
    except (AlreadyExistsError, PreconditionError) as error:
        raise _Exists(f"{place} is there.") from error
    except (PermissionDeniedError, UnauthenticatedError) as error:
        message = f"The object store does not let this service keep its attempts ({place}): {_line(error)}"
        raise Unavailable(message, code="ATTEMPTS_FORBIDDEN") from error
    except BaseError as error:
        message = f"The object store did not answer for {place}: {_line(error)}"
        raise Unavailable(message, code="ATTEMPTS_UNAVAILABLE") from error


def _line(error: Exception) -> str:
    """What the store says to people; what follows is for its authors."""
    return str(error).partition("\n")[0]
