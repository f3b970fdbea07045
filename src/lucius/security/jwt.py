"""OIDC access tokens: from a JWT to a principal.

The configuration decides everything, the token nothing: which algorithms, which issuer, which
audience, where keys come from. A token that brings keys of its own (`jwk`, `jku`, `x5u`, `x5c`) or
wants rules of its own (`crit`, `b64`, `zip`) is refused before any of it is read.

The order is: shape, header, key, signature, and only then the claims. Every failure is
`Unauthenticated` with one message; `Unavailable` when the issuer's keys cannot be had. A token whose
claims are good but give no tenant or no role of ours is `Forbidden`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec
from joserfc.errors import JoseError
from joserfc.jws import JWSRegistry, deserialize_compact

from lucius.errors import Forbidden, Invalid, Unauthenticated, Unavailable
from lucius.security.jwks import FAMILIES, TrustedKeys
from lucius.security.principal import Principal, role_set, tenant_set
from lucius.security.strict_json import base64url, strict_object

MAX_TOKEN = 8_192
_MAX_HEADER = 1_024
_MAX_SUBJECT = 255
_MAX_SECONDS = 2**53
_HEADER_MEMBERS = frozenset({"alg", "kid", "typ", "x5t", "x5t#S256", "cty"})
_TYPES = frozenset({"jwt", "at+jwt", "application/at+jwt"})


class JwtRules(msgspec.Struct, frozen=True, kw_only=True):
    """What a token must be to count. Claim names that start with `/` are paths into nested claims."""

    issuer: str
    audience: str
    algorithms: tuple[str, ...] = ("RS256", "ES256", "EdDSA")
    tenants_claim: str = "tenants"
    roles_claim: str = "roles"
    step_types_claim: str | None = None
    leeway: int = 30_000

    def __post_init__(self) -> None:
        """Refuse settings that would let everything or nothing in."""
        unknown = set(self.algorithms) - FAMILIES.keys()
        if unknown or not self.algorithms:
            raise Invalid(
                f"JWT algorithms must be some of {', '.join(FAMILIES)}; symmetric ones and none never are.",
                code="BAD_JWT_RULES",
            )
        if not self.issuer or not self.audience:
            raise Invalid("JWT needs both an issuer and an audience.", code="BAD_JWT_RULES")


class KeySource(Protocol):
    """Where the issuer's keys come from: `JwksCache`."""

    def keys(self) -> TrustedKeys:
        """The keys as they are known now."""
        ...

    async def refresh(self) -> bool:
        """Ask the issuer again, unless that was done a moment ago."""
        ...


class _UnknownKeyError(Exception):
    """No key of that id; the issuer may have rotated."""


class _Pinned(JWSRegistry):
    """The configured algorithms and no others, whatever joserfc recommends."""

    def get_alg(self, name: str) -> Any:
        if not self.allowed or name not in self.allowed:
            raise Unauthenticated("The algorithm is not allowed.")
        return self.algorithms[name]


class JwtVerifier:
    """Checks tokens of one issuer."""

    def __init__(self, rules: JwtRules, source: KeySource, *, clock: Callable[[], int]) -> None:
        self._rules = rules
        self._source = source
        self._clock = clock
        self._registry = _Pinned(algorithms=rules.algorithms)

    async def verify(self, token: str) -> Principal:
        """The principal behind a token. Waits only when a key is unknown and the issuer must be asked."""
        try:
            try:
                claims = self._claims(token)
            except (_UnknownKeyError, Unavailable):
                await self._source.refresh()
                claims = self._claims(token)
        except (_UnknownKeyError, JoseError, ValueError):
            raise _refused() from None
        self._check(claims)
        return self._principal(claims)

    def _claims(self, token: str) -> dict[str, Any]:
        """The claims of a token whose signature is good."""
        if len(token) > MAX_TOKEN or not token.isascii() or token.count(".") != 2:  # noqa: PLR2004
            raise ValueError("not a token")
        algorithm, kid = self._header(token.partition(".")[0])
        key = self._source.keys().find(kid, algorithm)
        if key is None:
            raise _UnknownKeyError
        # joserfc has its own idea of padding; canonical parts leave one spelling for each token.
        for part in token.split("."):
            base64url(part)
        return strict_object(deserialize_compact(token, key, registry=self._registry).payload or b"")

    def _header(self, part: str) -> tuple[str, str | None]:
        if len(part) > _MAX_HEADER:
            raise ValueError("header too long")
        header = strict_object(base64url(part))
        algorithm, kid, kind = header.get("alg"), header.get("kid"), header.get("typ", "JWT")
        if not header.keys() <= _HEADER_MEMBERS:
            raise ValueError("header brings its own keys or rules")
        if not isinstance(algorithm, str) or algorithm not in self._rules.algorithms:
            raise ValueError("algorithm not allowed")
        if not isinstance(kind, str) or kind.lower() not in _TYPES:
            raise ValueError("not an access token")
        if kid is not None and not isinstance(kid, str):
            raise ValueError("kid is not text")
        return algorithm, kid

    def _check(self, claims: dict[str, Any]) -> None:
        """Issuer, audience and times."""
        rules, now = self._rules, self._clock()
        audience = claims.get("aud")
        audiences = audience if isinstance(audience, list) else [audience]
        expires, starts, issued = (_milliseconds(claims.get(name)) for name in ("exp", "nbf", "iat"))
        if claims.get("iss") != rules.issuer or rules.audience not in audiences or expires is None:
            raise _refused()
        if now >= expires + rules.leeway:
            raise Unauthenticated(
                "The token has expired; get a new one from its issuer.", code="TOKEN_EXPIRED"
            )
        for name, moment in (("nbf", starts), ("iat", issued)):
            if (name in claims and moment is None) or (moment is not None and now + rules.leeway < moment):
                raise _refused()

    def _principal(self, claims: dict[str, Any]) -> Principal:
        subject = claims.get("sub")
        if not isinstance(subject, str) or not 0 < len(subject) <= _MAX_SUBJECT or not subject.isprintable():
            raise _refused()
        try:
            tenants = tenant_set(_claim(claims, self._rules.tenants_claim))
            roles = role_set(_claim(claims, self._rules.roles_claim))
        except ValueError as error:
            raise Forbidden(f"The token gives no access to Lucius: {error}.", code="CLAIMS_MISSING") from None
        return Principal(
            subject=f"jwt:{subject}", tenants=tenants, roles=roles, step_types=self._step_types(claims)
        )

    def _step_types(self, claims: dict[str, Any]) -> frozenset[str] | None:
        if self._rules.step_types_claim is None:
            return None
        named = _claim(claims, self._rules.step_types_claim)
        listed = [named] if isinstance(named, str) else named
        if not isinstance(listed, list):
            return frozenset()
        return frozenset(name for name in listed if isinstance(name, str))


def _claim(claims: dict[str, Any], name: str) -> Any:
    """A claim by name or, when the name starts with `/`, by path (`/realm_access/roles`)."""
    if not name.startswith("/"):
        return claims.get(name)
    value: Any = claims
    for member in name[1:].split("/"):
        value = value.get(member) if isinstance(value, dict) else None
    return value


def _milliseconds(seconds: object) -> int | None:
    """A NumericDate in milliseconds; None when it is not one."""
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        return None
    # NaN and infinity fail the comparison, and integers too large for a float pass through none.
    return int(seconds * 1000) if 0 <= seconds <= _MAX_SECONDS else None


def _refused() -> Unauthenticated:
    return Unauthenticated("The token is not one that Lucius accepts; get one from the configured issuer.")
