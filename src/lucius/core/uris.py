"""The parts of a reference's URI, cut with no leniency.

    scheme://authority/path?query

No state. Only what has one reading is taken: printable characters, `%` followed by two hex digits
that decode to UTF-8, no fragment. `unsafe_path` says why a path could mean another place than it
says: it is looked at as sent, decoded (again and again), and in Unicode's compatibility form.
"""

from __future__ import annotations

import re
import unicodedata
from urllib.parse import unquote_to_bytes

import msgspec

MAX_DECODINGS = 3

_PARTS = re.compile(r"([a-z][a-z0-9+.-]{0,31})://([^/?#\\]*)(/[^?#]*)?(?:\?([^#]*))?")
_BROKEN_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ESCAPED_SEPARATOR = re.compile(r"%(?:2f|5c)", re.IGNORECASE)


class Uri(msgspec.Struct, frozen=True, kw_only=True):
    """A URI in its parts, as sent."""

    scheme: str
    authority: str
    path: str
    query: str


def split_uri(text: str) -> Uri | None:
    """The parts, or None if the text is not one clean URI."""
    match = _PARTS.fullmatch(text)
    if match is None or not text.isprintable() or _BROKEN_ESCAPE.search(text):
        return None
    scheme, authority, path, query = match.groups(default="")
    return Uri(scheme=scheme, authority=authority, path=path, query=query)


def unsafe_path(path: str) -> str | None:
    """Why the path is not taken at its word, or None."""
    form = path
    for _ in range(MAX_DECODINGS):
        if reason := _unsafe_form(form) or (None if form.isascii() else _unsafe_form(_folded(form))):
            return reason
        if "%" not in form:
            return None
        if _ESCAPED_SEPARATOR.search(form):
            return "holds an encoded separator"
        decoded = decode(form)
        if decoded is None:
            return "holds escapes that are not UTF-8"
        if decoded == form:
            return None
        form = decoded
    return "is encoded more than once"


def decode(text: str) -> str | None:
    """The text with its escapes decoded once, or None if that is not UTF-8."""
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        return None


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text)


def _unsafe_form(form: str) -> str | None:
    if "\\" in form:
        return "holds a backslash"
    if "//" in form:
        return "holds an empty segment"
    if not form.isprintable():
        return "holds characters that cannot be shown"
    # A parameter (`;x`) does not make dots into a name for every server.
    if any(segment.split(";")[0].strip() in {".", ".."} for segment in form.split("/")):
        return "holds a dot segment"
    return None
