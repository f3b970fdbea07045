from __future__ import annotations

import json
from typing import Any

import pytest

from lucius.errors import Forbidden, Invalid, Unauthenticated, Unavailable
from lucius.security.jwks import JwksCache
from lucius.security.jwt import JwtRules, JwtVerifier
from lucius.security.principal import Role
from lucius.testing.forgeries import Issuer, SigningKey, forged_jwts, public, signed
from tests.security.builders import NOW, Clock, the_issuer

ISSUER = the_issuer()
FORGED = forged_jwts(ISSUER, NOW)


def verifier(issuer: Issuer, clock: Clock, document: bytes | None = None, **rules: Any) -> JwtVerifier:
    """A verifier that trusts the issuer."""

    async def fetch() -> bytes:
        return issuer.jwks() if document is None else document

    return JwtVerifier(
        JwtRules(issuer=issuer.url, audience=issuer.audience, **rules),
        JwksCache(fetch, clock=clock),
        clock=clock,
    )


async def test_a_good_token_becomes_a_principal(issuer: Issuer, clock: Clock) -> None:
    """Subject, tenants and roles come from the claims."""
    principal = await verifier(issuer, clock).verify(
        issuer.token(NOW, tenants=["ACME", "globex"], roles=["read", "wiki-editor"])
    )
    assert principal.subject == "jwt:ada"
    assert principal.tenants == frozenset({"acme", "globex"})
    assert principal.roles == {Role.READ}
    assert principal.step_types is None


@pytest.mark.parametrize(
    ("algorithm", "kid"), [("RS256", "rsa-1"), ("ES256", "ec-1"), ("EdDSA", "ed-1"), ("RS256", None)]
)
async def test_every_pinned_algorithm_verifies(
    issuer: Issuer, clock: Clock, algorithm: str, kid: str | None
) -> None:
    """Each family works, and a token without kid is taken when only one key fits its algorithm."""
    keys: dict[str, SigningKey] = {"RS256": issuer.rsa, "ES256": issuer.ec, "EdDSA": issuer.ed}
    header = {"alg": algorithm, "typ": "at+jwt"} | ({"kid": kid} if kid else {})
    assert (
        await verifier(issuer, clock).verify(signed(header, issuer.claims(NOW), keys[algorithm]))
    ).subject == "jwt:ada"


async def test_an_algorithm_that_is_not_pinned_is_refused(issuer: Issuer, clock: Clock) -> None:
    """Narrowing the settings narrows what is believed, though the key is known."""
    token = issuer.token(NOW)
    assert (await verifier(issuer, clock, algorithms=("RS256",)).verify(token)).subject == "jwt:ada"
    with pytest.raises(Unauthenticated):
        await verifier(issuer, clock, algorithms=("ES256",)).verify(token)


@pytest.mark.parametrize("name", FORGED)
async def test_forged_tokens_are_refused(clock: Clock, name: str) -> None:
    """Each forgery is wrong in one way, and each is refused where the good token passes."""
    checker = verifier(ISSUER, clock)
    assert (await checker.verify(ISSUER.token(NOW))).subject == "jwt:ada"
    with pytest.raises((Unauthenticated, Forbidden)):
        await checker.verify(FORGED[name])


def test_the_corpus_is_large_enough() -> None:
    """At least the twenty forgeries that were promised."""
    assert len(FORGED) >= 20


@pytest.mark.parametrize(
    ("change", "at", "good"),
    [
        ({"exp": NOW // 1000}, NOW + 29_999, True),
        ({"exp": NOW // 1000}, NOW + 30_000, False),
        ({"nbf": NOW // 1000}, NOW - 30_000, True),
        ({"nbf": NOW // 1000}, NOW - 30_001, False),
        ({"exp": NOW / 1000 + 0.5, "iat": None}, NOW, True),
    ],
)
async def test_leeway_is_small_and_exact(
    issuer: Issuer, clock: Clock, change: dict[str, Any], at: int, good: bool
) -> None:
    """Thirty seconds of difference between clocks are forgiven, one millisecond more is not."""
    token = issuer.token(NOW - 60_000, **{"exp": NOW // 1000 + 600} | change)
    clock.now = at
    if good:
        assert (await verifier(issuer, clock).verify(token)).subject == "jwt:ada"
    else:
        with pytest.raises(Unauthenticated):
            await verifier(issuer, clock).verify(token)


async def test_claims_may_be_nested_and_renamed(issuer: Issuer, clock: Clock) -> None:
    """Names of claims are settings, and a path reaches into objects."""
    checker = verifier(
        issuer,
        clock,
        tenants_claim="https://x.example/org",
        roles_claim="/realm/roles",
        step_types_claim="steps",
    )
    claims = {"https://x.example/org": "acme", "realm": {"roles": ["service"]}, "steps": ["OCR"]}
    principal = await checker.verify(issuer.token(NOW, tenants=None, roles=None, **claims))
    assert (principal.tenants, principal.roles) == (frozenset({"acme"}), frozenset({Role.SERVICE}))
    assert principal.step_types == frozenset({"OCR"})
    nobody = await checker.verify(issuer.token(NOW, **claims | {"steps": None}))
    assert nobody.step_types == frozenset()
    with pytest.raises(Forbidden):
        await checker.verify(issuer.token(NOW, **claims | {"realm": "roles"}))


@pytest.mark.parametrize(
    "rules",
    [
        {"algorithms": ("HS256",)},
        {"algorithms": ("none",)},
        {"algorithms": ()},
        {"issuer": ""},
        {"audience": ""},
    ],
)
def test_dangerous_settings_are_refused(rules: dict[str, Any]) -> None:
    """Symmetric algorithms, none, and an empty issuer or audience stop the start."""
    with pytest.raises(Invalid):
        JwtRules(**{"issuer": "https://i.example", "audience": "lucius"} | rules)


async def test_keys_of_the_wrong_kind_are_left_out(issuer: Issuer, clock: Clock) -> None:
    """Symmetric, private, encrypting, weak and broken keys in a JWKS verify nothing."""
    good = public(issuer.rsa)
    unusable: list[Any] = [
        {"kty": "oct", "k": "c2VjcmV0", "kid": "rsa-1"},
        {**issuer.rsa.as_dict(private=True), "kid": "rsa-1"},
        {**good, "kid": "rsa-1", "use": "enc"},
        {**good, "kid": "rsa-1", "key_ops": ["encrypt"]},
        {**good, "kid": "rsa-1", "n": good["n"][:100]},
        {**good, "kid": "rsa-1", "n": "!" * 342},
        {**good, "kid": "rsa-1", "alg": "PS256"},
        {**good, "kid": 7},
        "rsa-1",
    ]
    for jwk in unusable:
        document = json.dumps({"keys": [jwk, {**public(issuer.ec), "kid": "ec-1"}]}).encode()
        with pytest.raises(Unauthenticated):
            await verifier(issuer, clock, document).verify(issuer.token(NOW))


@pytest.mark.parametrize(
    "document", [b"", b"[]", b"{}", b'{"keys": {}}', b'{"keys": []}', b'{"keys":[],"keys":[]}']
)
async def test_a_useless_jwks_leaves_tokens_unchecked(issuer: Issuer, clock: Clock, document: bytes) -> None:
    """Without keys nobody is let in, and the answer is try again, not a failure of ours."""
    with pytest.raises(Unavailable):
        await verifier(issuer, clock, document).verify(issuer.token(NOW))
