"""From a path or a URL to the store of attempts it names; what a store needs is loaded only then.

    attempts.db, /var/lib/ocr/attempts.db, sqlite:///var/lib/ocr/attempts.db    a SQLite file
    azure-table://ACCOUNT/TABLE, azure-table://HOST[:PORT]/TABLE                an Azure table
    s3://BUCKET/PREFIX, az://CONTAINER/PREFIX, file:///DIRECTORY                objects

`sqlite:///` takes an absolute path. An Azure table is reached with AZURE_STORAGE_CONNECTION_STRING where
that is set, else over https as whoever azure-identity finds. S3 and Azure Blob read the usual variables
(AWS_ACCESS_KEY_ID, AWS_REGION, AZURE_STORAGE_ACCOUNT_NAME, …).
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from lucius.errors import Invalid, Unavailable

if TYPE_CHECKING:
    from lucius.sdk.serving.ports import Attempts

_TABLE: Final = re.compile(r"[A-Za-z][A-Za-z0-9]{2,62}")
_ACCOUNT: Final = re.compile(r"[a-z0-9]{3,24}")
_FORMS: Final = (
    "a path, sqlite:///PATH, azure-table://ACCOUNT/TABLE, s3://BUCKET/…, az://CONTAINER/… or file:///…"
)


async def open_attempts(
    url_or_path: str | os.PathLike[str], *, environment: Mapping[str, str] | None = None
) -> Attempts:
    """The store that a URL or a path names; `Invalid` if it names none, `Unavailable` if it is no good."""
    text = os.fspath(url_or_path)
    variables = os.environ if environment is None else environment
    scheme, mark, _ = text.partition("://")
    if not text:
        raise Invalid(f"The attempts of a service need a place: {_FORMS}.", code="BAD_ATTEMPTS_URL")
    if not mark:
        return await _sqlite(text)
    match scheme.lower():
        case "sqlite":
            return await _sqlite(_path(text))
        case "azure-table":
            return _azure_table(text, variables)
        case "s3" | "az":
            return _objects(text, variables)
        case "file":
            return _directory(text)
        case _:
            message = f"Nothing keeps attempts at {scheme}://…; write {_FORMS}."
            raise Invalid(message, code="BAD_ATTEMPTS_URL")


async def _sqlite(path: str) -> Attempts:
    from lucius.sdk.attempts.sqlite import SqliteAttempts  # noqa: PLC0415 - only what is used is loaded

    return await asyncio.to_thread(SqliteAttempts, path)  # another process may be making the file


def _azure_table(url: str, variables: Mapping[str, str]) -> Attempts:
    parts = urlsplit(url)
    account, table = parts.netloc, parts.path.strip("/")
    if not account or not _TABLE.fullmatch(table):
        message = "Write azure-table://ACCOUNT/TABLE, the table in 3 to 63 letters and digits."
        raise Invalid(message, code="BAD_ATTEMPTS_URL")
    try:
        from azure.data.tables.aio import TableClient  # noqa: PLC0415 - an extra
        from azure.identity.aio import DefaultAzureCredential  # noqa: PLC0415 - an extra

        from lucius.sdk.attempts.azure_table import AzureTableAttempts  # noqa: PLC0415 - needs the extra
    except ImportError as error:
        message = "Attempts in an Azure table need the Azure clients: pip install 'lucius[azure]'."
        raise Unavailable(message, code="EXTRA_MISSING") from error
    connection = variables.get("AZURE_STORAGE_CONNECTION_STRING")
    if connection:
        try:
            return AzureTableAttempts(TableClient.from_connection_string(connection, table))
        except ValueError as error:
            message = f"AZURE_STORAGE_CONNECTION_STRING is not a connection string for tables: {error}."
            raise Invalid(message, code="BAD_CONNECTION_STRING") from None
    host = f"{account}.table.core.windows.net" if _ACCOUNT.fullmatch(account) else account
    credential = DefaultAzureCredential()
    client = TableClient(f"https://{host}", table, credential=credential)
    return AzureTableAttempts(client, credential=credential)


def _objects(url: str, variables: Mapping[str, str]) -> Attempts:
    from obstore.exceptions import BaseError  # noqa: PLC0415 - only what is used is loaded

    from lucius.sdk.attempts.objects import ObjectAttempts  # noqa: PLC0415
    from lucius.sdk.workspaces import clouds  # noqa: PLC0415

    parts = urlsplit(url)
    if not parts.netloc:
        raise Invalid(f"{url} names no bucket; write {_FORMS}.", code="BAD_ATTEMPTS_URL")
    opened = clouds.s3 if parts.scheme == "s3" else clouds.azure
    try:
        store = opened(parts.netloc, variables, clouds.Patience())
    except (BaseError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        message = f"The attempts cannot be kept at {parts.scheme}://{parts.netloc}: {reason}."
        raise Invalid(message, code="BAD_ATTEMPTS_URL") from None
    return ObjectAttempts(store, unquote(parts.path))


def _directory(url: str) -> Attempts:
    from obstore.store import LocalStore  # noqa: PLC0415 - only what is used is loaded

    from lucius.sdk.attempts.objects import ObjectAttempts  # noqa: PLC0415

    directory = Path(_path(url))
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)  # directives hold callback tokens
    except OSError as error:
        message = f"The attempts cannot be kept in {directory}: {error.strerror}."
        raise Unavailable(message, code="ATTEMPTS_UNREADABLE") from error
    return ObjectAttempts(LocalStore(directory, automatic_cleanup=True), "")


def _path(url: str) -> str:
    """The absolute path of `scheme:///path`."""
    parts = urlsplit(url)
    if parts.netloc or not parts.path.strip("/"):
        message = f"Write {parts.scheme}:/// and an absolute path, with three slashes."
        raise Invalid(message, code="BAD_ATTEMPTS_URL")
    return unquote(parts.path)
