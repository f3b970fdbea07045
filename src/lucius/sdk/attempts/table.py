"""What `AzureTableAttempts` asks of a table, with Azure's errors as ours.

The table is made when it is first used. After an error, or after `Changed`, nobody knows whether a write
was done: Azure's client tries again by itself, and may find its own first try in the way.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from azure.core import MatchConditions
from azure.core.exceptions import AzureError, HttpResponseError, ResourceExistsError
from azure.data.tables import TableEntity, TableTransactionError, UpdateMode

from lucius.errors import LuciusError, Unavailable

if TYPE_CHECKING:
    from azure.data.tables.aio import TableClient

_FORBIDDEN: Final = frozenset({401, 403})
_CHANGED: Final = frozenset({404, 409, 412})

Place = tuple[str, str]
"""PartitionKey and RowKey."""


class Closable(Protocol):
    """Something to let go of with the table: a credential."""

    async def close(self) -> None:
        """Let go of it."""
        ...


class Changed(LuciusError):  # noqa: N818 - as in the error tree
    """Somebody wrote, made or removed the entity meanwhile; it may have been ourselves."""


class Table:
    """One table."""

    def __init__(self, client: TableClient, credential: Closable | None) -> None:
        self._client = client
        self._credential = credential
        self._made = False
        self._making = asyncio.Lock()
        self._closed = False

    async def get(self, place: Place, fields: list[str] | None = None) -> TableEntity | None:
        """An entity, or only some of its fields; None if there is none."""
        try:
            async with self._told():
                return await self._client.get_entity(*place, select=fields)
        except Changed:
            return None

    async def create(self, place: Place, fields: Mapping[str, Any]) -> None:
        """Write an entity that is not there yet; `Changed` if it is."""
        async with self._told():
            await self._client.create_entity(_entity(place, fields))

    async def merge(self, place: Place, fields: Mapping[str, Any], read: TableEntity) -> None:
        """Write some fields over the version that was read; `Changed` if it is gone."""
        async with self._told():
            await self._client.update_entity(
                _entity(place, fields),
                mode=UpdateMode.MERGE,
                etag=read.metadata["etag"],
                match_condition=MatchConditions.IfNotModified,
            )

    async def move(self, place: Place, to: Place, fields: Mapping[str, Any], read: TableEntity) -> None:
        """Remove the version that was read and create another entity beside it, both or none."""
        unchanged = {"etag": read.metadata["etag"], "match_condition": MatchConditions.IfNotModified}
        async with self._told():
            await self._client.submit_transaction(
                [("delete", _entity(place, {}), unchanged), ("create", _entity(to, fields))]
            )

    async def delete(self, place: Place, read: TableEntity) -> None:
        """Remove the version that was read; `Changed` if it is gone."""
        async with self._told():
            await self._client.delete_entity(
                *place, etag=read.metadata["etag"], match_condition=MatchConditions.IfNotModified
            )

    async def find(self, filter_: str, fields: list[str]) -> list[TableEntity]:
        """Some fields of all entities that a filter finds."""
        async with self._told():
            return [each async for each in self._client.query_entities(filter_, select=fields)]

    async def close(self) -> None:
        """Let go of the connections; closing again does nothing."""
        if self._closed:
            return
        self._closed = True
        await self._client.close()
        if self._credential is not None:
            await self._credential.close()

    @asynccontextmanager
    async def _told(self) -> AsyncIterator[None]:
        if self._closed:
            raise Unavailable("The store of attempts is closed.", code="ATTEMPTS_CLOSED")
        name = self._client.table_name
        try:
            await self._make()
            yield
        except AzureError as error:
            status = error.status_code if isinstance(error, HttpResponseError) else None
            if status in _CHANGED or isinstance(error, TableTransactionError):
                raise Changed(f"An attempt in the table {name} was changed meanwhile.") from error
            said = str(error).partition("\n")[0]
            if status in _FORBIDDEN:
                message = f"Azure does not let this service use the table {name}: {said}"
                raise Unavailable(message, code="ATTEMPTS_FORBIDDEN") from error
            message = f"The table {name} did not do what was asked: {said}"
            raise Unavailable(message, code="ATTEMPTS_UNAVAILABLE") from error

    async def _make(self) -> None:
        """See to it that there is a table; who may not make one has been given one."""
        async with self._making:
            if self._made:
                return
            try:
                with suppress(ResourceExistsError):
                    await self._client.create_table()
            except HttpResponseError as error:
                if error.status_code not in _FORBIDDEN:
                    raise
            self._made = True


def _entity(place: Place, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {**fields, "PartitionKey": place[0], "RowKey": place[1]}
