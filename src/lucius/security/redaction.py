"""Secrets out, before anything is logged, stored as an error or shown.

Two ways a secret is known: by its name (a member called `password`, a header, a query parameter) and
by its shape (our keys and tokens, JWTs, private keys, user info in a URL). Both work inside free
text, because that is what error messages of others are.

Redaction comes before truncation: a cut could leave half a secret that no pattern knows any more.
When in doubt, more is masked than needed. Every pattern is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

MASK = "[redacted]"
_CUT = "…"
_MAX_DEPTH = 32

#: A member whose name ends like this holds a secret.
_NAMES = (
    r"password|passwd|passphrase|pwd|secret|token|signature|credentials?|connection[_-]?string"
    r"|(?:api|access|account|private|secret|signing|master)[_-]?key|(?:(?<![a-z])|(?<=%3f)|(?<=%253f))sig"
)
_HEADERS = r"(?:proxy-)?authorization|(?:set-)?cookie"

_SECRET_NAME = re.compile(rf"(?i)(?:{_NAMES}|{_HEADERS})\Z")
_PRIVATE_KEY = re.compile(r"-----BEGIN [A-Z ]{0,24}PRIVATE KEY-----(?:[^-]|-(?!----END))*")
#: A quoted value in JSON, in JSON inside JSON, or as Python shows it; the quote stays.
_QUOTED = r"""(?:(\\+["'])[^"'\\]*|(b?")(?:[^"\\]|\\.)*|(b?')(?:[^'\\]|\\.)*|"""
_HEADER = re.compile(rf"(?i)((?:{_HEADERS})(?:\\{{0,3}}[\"'])?\s{{0,3}}[:=,]\s{{0,3}}){_QUOTED}[^\r\n]+)")
_SCHEME = re.compile(r"(?i)\b(bearer|basic|sharedkey|sharedaccesssignature)\s{1,4}[^\s\"',;<>]{6,}")
_USER_INFO = re.compile(r"://[^/\s\"'<>?#]*@")
_NAMED = re.compile(
    rf"(?i)((?:{_NAMES})(?:\\{{0,3}}[\"'])?\s{{0,3}}(?:=>|=|:|%3D|%253D)\s{{0,3}}){_QUOTED}[^\s&;\"'<>]+)"
)
#: A stretch of token characters; what is inside is looked at once, so hostile text costs no more.
_RUN = re.compile(r"[A-Za-z0-9_.+/=~-]{12,}")
_SHAPES = re.compile(r"lk_[a-z2-7]{16}_|lct1\.[a-z0-9]{1,16}\.|whsec_|eyJ[A-Za-z0-9_-]{6}")
#: Lower-case traces, one of which is in every text that holds something to mask.
_HINTS = (
    "lk_", "lct1.", "eyj", "whsec_", "://", "authorization", "bearer", "basic", "shared", "cookie", "sig",
    "passw", "passp", "pwd", "secret", "token", "key", "credential", "connection",
)  # fmt: skip


def redact_text(text: str, limit: int | None = None) -> str:
    """The text without secrets, then cut to `limit` characters."""
    lowered = text.lower()
    if any(hint in lowered for hint in _HINTS):
        text = _PRIVATE_KEY.sub(MASK, text)
        text = _USER_INFO.sub(f"://{MASK}@", text)
        text = _HEADER.sub(rf"\1\2\3\4{MASK}", text)
        text = _SCHEME.sub(rf"\1 {MASK}", text)
        text = _NAMED.sub(rf"\1\2\3\4{MASK}", text)
        text = _RUN.sub(_without_shapes, text)
    if limit is not None and len(text) > limit:
        return text[: max(limit - 1, 0)] + _CUT[: max(limit, 0)]
    return text


def redact(value: Any, limit: int | None = None) -> Any:
    """The same value without secrets: text, mappings, sequences and records at any depth.

    What is none of these is shown by its `repr`, redacted. `limit` cuts each text.
    """
    return _redact(value, limit, _MAX_DEPTH)


def _redact(value: Any, limit: int | None, depth: int) -> Any:
    if isinstance(value, str):
        return redact_text(value, limit)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if depth == 0:
        return MASK
    if isinstance(value, Mapping):
        return {
            _redact(name, limit, depth - 1): _member(name, inner, limit, depth - 1)
            for name, inner in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_redact(inner, limit, depth - 1) for inner in value]
    if isinstance(value, msgspec.Struct):
        return _redact(msgspec.structs.asdict(value), limit, depth - 1)
    if isinstance(value, (bytes, bytearray)):
        return redact_text(bytes(value).decode("utf-8", "replace"), limit)
    return redact_text(repr(value), limit)


def _member(name: object, value: Any, limit: int | None, depth: int) -> Any:
    if value is not None and isinstance(name, (str, bytes)):
        text = name if isinstance(name, str) else name.decode("utf-8", "replace")
        if _SECRET_NAME.search(text):
            return MASK
    return _redact(value, limit, depth)


def _without_shapes(run: re.Match[str]) -> str:
    text = run[0]
    found = _SHAPES.search(text)
    return text if found is None else text[: found.start()] + MASK
