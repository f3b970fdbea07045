"""Who may ask: one shared token, or two while it is being replaced. Only their digests are kept."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence

from lucius.errors import Invalid, Unauthenticated

MOST = 2
_TOKEN = re.compile(r"[!-~]{16,512}")
_SCHEME = b"bearer "


class BearerTokens:
    """The tokens that are taken. Raises `Invalid` when there is none: an open invoker is never built."""

    __slots__ = ("_digests",)

    def __init__(self, tokens: Sequence[str]) -> None:
        if not 1 <= len(tokens) <= MOST:
            raise Invalid(
                f"The invoker takes one token, or two while it is replaced; {len(tokens)} are set. "
                "Set LUCIUS_INVOKER_TOKEN.",
                code="NO_INVOKER_TOKEN",
            )
        if not all(_TOKEN.fullmatch(token) for token in tokens):
            raise Invalid(
                "An invoker token has 16 to 512 printable ASCII characters and no blanks.",
                code="BAD_INVOKER_TOKEN",
            )
        self._digests = tuple(_digest(token.encode()) for token in tokens)

    def check(self, authorization: Sequence[bytes]) -> None:
        """Raise `Unauthenticated` unless the one Authorization header of a request has a token of ours."""
        header = authorization[0] if len(authorization) == 1 else b""
        scheme, given = header[: len(_SCHEME)], _digest(header[len(_SCHEME) :])
        # Every token is compared, each over a digest: time tells neither which one nor how much fits.
        fits = [hmac.compare_digest(given, digest) for digest in self._digests]
        if scheme.lower() != _SCHEME or not any(fits):
            raise Unauthenticated("This needs the invoker's token.")


def _digest(token: bytes) -> bytes:
    return hashlib.sha256(token).digest()
