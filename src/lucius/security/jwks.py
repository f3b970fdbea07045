"""The issuer's public keys, and a cache that outlives short outages of the issuer.

    empty ──refresh ok──▶ fresh ──max_age──▶ due ──refresh ok──▶ fresh
                                              └──refresh failed──▶ stale ──max_stale──▶ too old

Fresh, due and stale keys all verify; with none, or with keys that are too old, `keys()` raises
`Unavailable`: an attacker who can cut us off from the issuer must not keep a withdrawn key alive.

Only public signing keys of the families we can verify get in: symmetric keys, private keys, keys
for encryption and weak keys are left out, whatever the document says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import ECKey, OKPKey, RSAKey

from lucius.errors import Invalid, LuciusError, Unavailable
from lucius.security.strict_json import strict_object

PublicKey = RSAKey | ECKey | OKPKey

#: algorithm -> key type and curve
FAMILIES: dict[str, tuple[str, str | None]] = {
    "RS256": ("RSA", None),
    "ES256": ("EC", "P-256"),
    "EdDSA": ("OKP", "Ed25519"),
    "Ed25519": ("OKP", "Ed25519"),
}
_IMPORTERS: dict[str, type[RSAKey | ECKey | OKPKey]] = {"RSA": RSAKey, "EC": ECKey, "OKP": OKPKey}
_MAX_KEYS = 64
#: base64url lengths of RSA moduli: 2048 bits at least, 8192 at most
_MODULUS = range(342, 1367)
_MAX_EXPONENT = 6


class TrustedKeys:
    """The usable keys of one JWKS document."""

    def __init__(self, document: bytes) -> None:
        try:
            listed = strict_object(document).get("keys")
        except ValueError as error:
            raise Invalid(f"The JWKS document cannot be read: {error}.", code="BAD_JWKS") from None
        if not isinstance(listed, list):
            raise Invalid("The JWKS document has no list of keys.", code="BAD_JWKS")
        self._keys = [(jwk, key) for jwk in listed[:_MAX_KEYS] if (key := _usable(jwk)) is not None]
        if not self._keys:
            raise Invalid("The JWKS document has no usable public signing key.", code="BAD_JWKS")

    def find(self, kid: str | None, algorithm: str) -> PublicKey | None:
        """The key of that id for that algorithm; without an id, the only key there is for it."""
        family = FAMILIES[algorithm]
        fitting = [
            key
            for jwk, key in self._keys
            if (kid is None or jwk.get("kid") == kid)
            and (jwk["kty"], jwk.get("crv")) == family
            and FAMILIES.get(jwk.get("alg", algorithm)) == family
        ]
        return fitting[0] if len(fitting) == 1 else None


class JwksCache:
    """Keys from a fetcher, fetched again when due, kept when fetching fails."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[bytes]],
        *,
        clock: Callable[[], int],
        max_age: int = 600_000,
        min_interval: int = 10_000,
        max_stale: int = 24 * 3_600_000,
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._max_age = max_age
        self._min_interval = min_interval
        self._max_stale = max_stale
        self._keys: TrustedKeys | None = None
        self._fetched_at = 0
        self._tried_at: int | None = None
        self._lock = asyncio.Lock()
        self.last_error: str | None = None

    def keys(self) -> TrustedKeys:
        """The keys to verify with."""
        if self._keys is None or self._clock() - self._fetched_at > self._max_stale:
            raise Unavailable(
                "The issuer's keys are not available, so no token can be checked; try again later.",
                code="JWKS_UNAVAILABLE",
            )
        return self._keys

    async def refresh(self) -> bool:
        """Fetch the keys unless that was tried a moment ago. True when they are as fresh as can be.

        Never raises for the issuer's faults: the old keys stay and `last_error` says what happened.
        """
        async with self._lock:
            now = self._clock()
            if self._tried_at is not None and now - self._tried_at < self._min_interval:
                return self.last_error is None
            self._tried_at = now
            try:
                self._keys = TrustedKeys(await self._fetch())
            except LuciusError as error:
                self.last_error = error.message
                return False
            self._fetched_at = now
            self.last_error = None
            return True

    async def run(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        """Keep the keys fresh until cancelled; `sleep` takes seconds."""
        while True:
            fresh = await self.refresh()
            await sleep((self._max_age if fresh else self._min_interval) / 1000)


def _usable(jwk: Any) -> PublicKey | None:
    """The key in a JWK when it is one we may trust, else None."""
    if not isinstance(jwk, dict) or not _public_signing(jwk):
        return None
    if jwk["kty"] == "RSA" and not (
        len(str(jwk.get("n", ""))) in _MODULUS and 0 < len(str(jwk.get("e", ""))) <= _MAX_EXPONENT
    ):
        return None
    members = {
        name: jwk[name] for name in ("kty", "crv", "n", "e", "x", "y") if isinstance(jwk.get(name), str)
    }
    try:
        return _IMPORTERS[jwk["kty"]].import_key(members)
    except (JoseError, ValueError, KeyError, TypeError):
        return None


def _public_signing(jwk: dict[str, Any]) -> bool:
    families = {(kty, crv) for kty, crv in FAMILIES.values()}
    return (
        isinstance(jwk.get("kty"), str)
        and isinstance(jwk.get("crv", ""), str)
        and isinstance(jwk.get("kid", ""), str)
        and isinstance(jwk.get("alg", ""), str)
        and (jwk["kty"], jwk.get("crv")) in families
        and "d" not in jwk
        and jwk.get("use", "sig") == "sig"
        and "verify" in jwk.get("key_ops", ["verify"])
    )
