"""The token of the invoker's internal API: from the settings, or from a file that processes share.

The file is made by whoever comes first, whole or not at all: written beside its place, flushed, linked;
who comes second takes what is there. A file that others can read, or that holds a weak token, stops the
start with a sentence; it is never replaced, because the other processes would go on with the old one.
"""

from __future__ import annotations

import os
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import TYPE_CHECKING

from lucius.errors import Invalid
from lucius.runtime import nature
from lucius.runtime.engine_settings import check_token

if TYPE_CHECKING:
    from lucius.runtime.settings import Settings

_OTHERS = 0o077
_RANDOM_BYTES = 32


def invoker_token(settings: Settings, path: Path) -> str:
    """What callers show and the invoker expects. `path`: the file to use if the settings name no token."""
    if settings.invoker_token is not None:
        return settings.invoker_token.get_secret_value()
    if not path.exists():
        _create(path)
    return _read(path)


def _read(path: Path) -> str:
    try:
        with path.open(encoding="ascii") as file:
            # Of the file that was opened, not of one that took its name since.
            exposed = os.name == "posix" and os.fstat(file.fileno()).st_mode & _OTHERS
            token = file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not text"
        raise Invalid(f"{path} cannot be read: {why}.", code="BAD_INVOKER_TOKEN") from None
    if exposed:
        message = f"Others can read the invoker's token; remove {path}, and start all processes again."
        raise Invalid(message, code="SECRETS_EXPOSED")
    try:
        check_token(token)
    except ValueError as error:
        message = f"{path} does not hold a usable token ({error}); remove it, and start all processes again."
        raise Invalid(message, code="BAD_INVOKER_TOKEN") from None
    return token


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    token = urlsafe_b64encode(nature.token_bytes(_RANDOM_BYTES)).rstrip(b"=")
    beside = path.with_name(f".{path.name}.{nature.token_bytes(8).hex()}")
    handle = os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(token + b"\n")
            file.flush()
            os.fsync(file.fileno())
        path.hardlink_to(beside)
    except FileExistsError:
        return  # another process was first; its token is the token
    finally:
        beside.unlink()
