"""Every place a service reads from and writes to, opened when it is first needed.

    stores = Stores()
    document = stores.source(directive.input_ref)
    workspace = stores.workspace(directive.workspace_ref["uri"], step_type="OCR", attempt_no=1)

State: one open store per bucket or container, kept as long as the object; connections are theirs.
Credentials and endpoints come from the variables of each cloud's own tools (AWS_*, AZURE_STORAGE_*,
GOOGLE_*), or from the identity of the machine. How it fails: see `faults`.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncGenerator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lucius.core.job import Ref
from lucius.sdk.serving.outcomes import Final, Retryable
from lucius.sdk.workspaces import clouds, faults
from lucius.sdk.workspaces.clouds import Patience
from lucius.sdk.workspaces.pieces import PIECE
from lucius.sdk.workspaces.places import AZURE, Place, check_name, place_of
from lucius.sdk.workspaces.source import Source
from lucius.sdk.workspaces.workspace import Workspace

if TYPE_CHECKING:
    import ssl

    from obstore.store import ObjectStore


class Stores:
    """Opens sources and workspaces. One for a whole service."""

    def __init__(
        self,
        environment: Mapping[str, str] | None = None,
        *,
        file_roots: Sequence[Path] = (),
        patience: Patience | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`environment` goes before the variables of the process.

        With `file_roots`, local files must lie below one of them, symbolic links followed.
        `tls` says whom to trust on the web, if not whom everybody trusts.
        """
        self._variables = {**os.environ, **(environment or {})}
        self._file_roots = [root.resolve() for root in file_roots]
        self._patience = patience or Patience()
        self._tls = tls
        self._open: dict[tuple[str, str], ObjectStore] = {}

    def source(self, ref: Ref) -> Source:
        """What a reference points at; nothing is read yet. `Final` if it can point at nothing."""
        place = place_of(ref.get("uri"))
        return Source(ref, place, lambda: self._read(place))

    def workspace(self, uri: str, *, step_type: str, attempt_no: int) -> Workspace:
        """Where an attempt writes, below a job's workspace."""
        base = place_of(uri)
        if base.scheme == "https":
            raise Final("UNSUPPORTED_URI", "A workspace cannot lie on the web: https: is read only.")
        check_name(step_type)
        return Workspace(base.below(step_type).below(str(attempt_no)), self.store)

    def store(self, place: Place) -> ObjectStore:
        """The open store of a place."""
        self._check_root(place)
        at = ("az" if place.scheme in AZURE else place.scheme, place.authority)
        if at not in self._open:
            self._open[at] = self._opened(place)
        return self._open[at]

    def _opened(self, place: Place) -> Any:
        from obstore.exceptions import BaseError  # noqa: PLC0415 - loaded when the first store is opened
        from obstore.store import LocalStore  # noqa: PLC0415 - as above

        try:
            if place.scheme == "file":
                return LocalStore()
            if place.scheme in AZURE:
                return clouds.azure(place.authority, self._variables, self._patience)
            if place.scheme == "gs":
                return clouds.gcs(place.authority, self._variables, self._patience)
            return clouds.s3(place.authority, self._variables, self._patience)
        except (BaseError, ValueError) as error:
            raise faults.of_opening(error, place) from error

    async def _read(self, place: Place) -> AsyncGenerator[bytes, None]:
        if place.scheme == "https":
            from lucius.sdk.workspaces import web  # noqa: PLC0415 - most services never read the web

            async for piece in web.read(place, self._patience, self._tls):
                yield piece
            return
        import obstore  # noqa: PLC0415 - loaded when the first file is read
        from obstore.exceptions import BaseError  # noqa: PLC0415 - as above

        store = self.store(place)
        if place.scheme == "file":
            await asyncio.to_thread(_check_plain, place)
        try:
            found = await obstore.get_async(store, place.key)
            left = found.meta["size"]
            async for piece in found.stream(min_chunk_size=PIECE):
                left -= len(piece)
                yield piece
        except (BaseError, OSError) as error:
            raise faults.of_reading(error, place) from error
        if left > 0:
            raise Retryable("STORE_UNAVAILABLE", f"{place.shown} broke off, {left} bytes before its end.")

    def _check_root(self, place: Place) -> None:
        if place.scheme != "file" or not self._file_roots:
            return
        try:
            real = Path("/", place.key).resolve()
        except (OSError, RuntimeError):  # links that lead in a circle
            raise Final("INPUT_NOT_FOUND", f"{place.shown} does not exist.") from None
        if not any(real.is_relative_to(root) for root in self._file_roots):
            raise Final("INPUT_FORBIDDEN", f"{place.shown} is not below a directory files may lie in.")


def _check_plain(place: Place) -> None:
    """Refuse what would be waited for without end: a pipe that nobody writes to, a device."""
    try:
        mode = Path("/", place.key).stat().st_mode
    except OSError:
        return  # told by who reads it
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise Final("INPUT_NOT_READABLE", f"{place.shown} is no file but a pipe, a socket or a device.")
