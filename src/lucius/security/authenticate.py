"""From request headers to a principal.

    a key (X-API-Key, or Authorization: Bearer lk_…)  ─▶ keyring   ─▶ principal, at once
    a JWT (Authorization: Bearer eyJ…)                ─▶ verifier  ─▶ principal, may wait for the issuer
    a key this process made for its own workers       ─▶ known to it alone, in memory, never in the keyring
    nothing, in open mode                             ─▶ ANONYMOUS
    anything else                                     ─▶ Unauthenticated

Open mode is decided once, at start, because the listener's address depends on it; it can only end
(the first key that is made closes it), never begin. A bad credential is refused in open mode too: it
was meant for something. Keys of the process's own do not close open mode: they let nobody else in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from lucius.errors import Unauthenticated
from lucius.security import keys
from lucius.security.principal import ANONYMOUS, Principal

MAX_HEADER = 8_192 + 16


class Keys(Protocol):
    """What is needed of a keyring here."""

    def find(self, key_id: str) -> keys.ApiKey | None:
        """The key of that id."""
        ...

    def any(self) -> bool:
        """Whether a key was ever made."""
        ...


class Tokens(Protocol):
    """What is needed of a JWT verifier here."""

    async def verify(self, token: str) -> Principal:
        """The principal behind a token."""
        ...


class Authenticator:
    """Reads credentials. Use `at_once(...) or await authenticate(...)` where microseconds count."""

    def __init__(
        self,
        keyring: Keys,
        tokens: Tokens | None = None,
        *,
        open_mode: bool,
        clock: Callable[[], int],
        own: Iterable[keys.ApiKey] = (),
    ) -> None:
        """`own` are keys that live no longer than this process."""
        self._keyring = keyring
        self._own = {key.key_id: key for key in own}
        self._tokens = tokens
        self._open_mode = open_mode and tokens is None
        self._clock = clock

    @property
    def open(self) -> bool:
        """Whether callers without a credential are let in right now."""
        return self._open_mode and not self._keyring.any()

    async def authenticate(self, authorization: str | None, x_api_key: str | None) -> Principal:
        """The principal behind the two headers; raise `Unauthenticated`."""
        principal = self.at_once(authorization, x_api_key)
        if principal is not None:
            return principal
        if self._tokens is None:
            raise _refused()
        return await self._tokens.verify(bearer(authorization or ""))

    def at_once(self, authorization: str | None, x_api_key: str | None) -> Principal | None:
        """The principal when it can be had without waiting; None for what may be a JWT."""
        if x_api_key is not None:
            if authorization is not None:
                raise Unauthenticated("Send one credential: X-API-Key or Authorization, not both.")
            return self._by_key(x_api_key)
        if authorization is None:
            if self.open:
                return ANONYMOUS
            raise Unauthenticated("This needs a credential: send X-API-Key, or Authorization: Bearer.")
        text = bearer(authorization)
        return self._by_key(text) if text.startswith(keys.PREFIX) else None

    def _by_key(self, text: str) -> Principal:
        key_id = keys.key_id_of(text)
        if key_id is None:
            raise _refused()
        key = self._own.get(key_id) or self._keyring.find(key_id)
        return keys.verify(text, key, now=self._clock())


def is_open(keyring: Keys, *, jwt_configured: bool) -> bool:
    """Whether Lucius starts in open mode: no key was ever made and no issuer is configured."""
    return not jwt_configured and not keyring.any()


def bearer(authorization: str) -> str:
    """What follows `Bearer` in an Authorization header: a key, a JWT or a callback token."""
    scheme, _, text = authorization.partition(" ")
    if scheme.lower() != "bearer" or not text or len(text) > MAX_HEADER:
        raise _refused()
    return text


def _refused() -> Unauthenticated:
    return Unauthenticated("The credential is not one that Lucius knows; send an API key or a bearer token.")
