"""Where a file lies: a reference's URI in its parts, and the names that may be put below it.

    file:///path      s3://bucket/key      az://container/key      abfss://container@account…/key
    gs://bucket/key   https://host/path (read only)

No state, no I/O. A URI is percent-encoded, a key is not. Whatever has two readings (`..`, `//`, a
backslash, an escaped separator) is refused with `Final` UNSUPPORTED_URI or INVALID_NAME.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

import msgspec

from lucius.core.refs import MAX_URI
from lucius.core.uris import decode, split_uri, unsafe_path
from lucius.sdk.serving.outcomes import Final

SCHEMES = ("file", "s3", "az", "abfs", "abfss", "gs", "https")
AZURE = frozenset({"az", "abfs", "abfss"})
MAX_NAME = 600
MAX_PART = 240
"""Bytes. File systems take 255, a few of which a file needs while it is being written."""

#: So end the temporary files of a local store, which therefore refuses them as names.
_TEMPORARY = re.compile(r"#[0-9]+\Z")
_SHOWN = 200


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """One file or folder."""

    scheme: str
    authority: str
    """Bucket, container, `container@account` or host; empty for a local file."""
    key: str
    """The path, decoded, without the first and the last slash."""
    uri: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.key.rpartition("/")[2]

    @property
    def shown(self) -> str:
        """What a message may say: no query, and not endlessly long."""
        text = f"{self.scheme}://{self.authority}/{self.key}"
        return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

    def below(self, name: str) -> Place:
        """The place of a name in this folder."""
        return Place(
            scheme=self.scheme,
            authority=self.authority,
            key=f"{self.key}/{name}".lstrip("/"),
            uri=f"{self.uri.rstrip('/')}/{quote(name)}",
        )


def place_of(uri: Any) -> Place:
    """The place a URI names."""
    parts = split_uri(uri) if type(uri) is str and len(uri) <= MAX_URI else None
    if parts is None:
        raise _unsupported("The reference has no URI of the form scheme://place/path.")
    if parts.scheme not in SCHEMES:
        raise _unsupported(f"{parts.scheme}: is not supported; use one of {', '.join(SCHEMES)}.")
    if reason := unsafe_path(parts.path):
        raise _unsupported(f"The path of the {parts.scheme}: URI {reason}.")
    if parts.query and parts.scheme != "https":
        # To leave out, say, a version would be to read something else than was asked for.
        raise _unsupported(f"A URI with {parts.scheme}: takes no query.")
    authority = parts.authority
    if parts.scheme == "file" and authority in {"", "localhost"}:
        authority = ""
    elif parts.scheme == "file" or not authority:
        raise _unsupported(f"The {parts.scheme}: URI names no place.")
    if "@" in authority and parts.scheme not in {"abfs", "abfss"}:
        raise _unsupported(f"The {parts.scheme}: URI must not hold a user or password.")
    key = (decode(parts.path) or "").strip("/")
    if parts.scheme == "file" and _TEMPORARY.search(key):
        raise _unsupported("The name of the file ends like that of a temporary one (#1).")
    return Place(scheme=parts.scheme, authority=authority, key=key, uri=uri)


def check_name(name: str) -> None:
    """Raise `Final` INVALID_NAME unless a workspace may hold a file of this name; `/` makes folders."""
    if reason := _why_not(name):
        raise Final("INVALID_NAME", f"{name[:_SHOWN]!r} is no name for a file: it {reason}.")


def _why_not(name: str) -> str | None:
    if not name or not name.isprintable():
        return "is empty" if not name else "holds characters that cannot be shown"
    if reason := unsafe_path(f"/{quote(name)}"):
        return reason
    parts = name.split("/")
    if any(not part or part != part.strip() or part.endswith(".") for part in parts):
        return "has a part that is empty, begins or ends with a blank, or ends with a dot"
    if any(_TEMPORARY.search(part) for part in parts):
        return "ends like the name of a temporary file (#1)"
    if any(len(part.encode()) > MAX_PART for part in parts) or len(name.encode()) > MAX_NAME:
        return f"is longer than {MAX_NAME} bytes, or a part of it longer than {MAX_PART}"
    return None


def _unsupported(message: str) -> Final:
    return Final("UNSUPPORTED_URI", message)
