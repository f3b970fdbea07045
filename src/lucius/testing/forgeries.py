"""Credentials that must never be believed: a corpus to throw at any Lucius.

`Issuer` is an OIDC issuer in a box with real keys. `forged_jwts(issuer, now)` gives named tokens, each
wrong in one way; `issuer.token(now)` is the good one they are made from. `forged_callbacks(...)` does
the same for callback tokens and `forged_keys(text)` for API keys. An implementation passes when it
takes the good one and refuses every other one.
"""

from __future__ import annotations

import base64
import hmac
import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec
from joserfc.jwk import ECKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lucius.security.callback_keys import CallbackKey
    from lucius.security.callback_tokens import Binding

SigningKey = RSAKey | ECKey | OKPKey


class Issuer:
    """Real keys, and tokens signed with them."""

    url = "https://issuer.example"
    audience = "lucius"

    def __init__(self) -> None:
        self.rsa = RSAKey.generate_key(2048)
        self.ec = ECKey.generate_key("P-256")
        self.ed = OKPKey.generate_key("Ed25519")
        self.stranger = RSAKey.generate_key(2048)

    def jwks(self) -> bytes:
        """The public document."""
        named = (("rsa-1", self.rsa), ("ec-1", self.ec), ("ed-1", self.ed))
        return json.dumps(
            {"keys": [{**public(key), "kid": kid, "use": "sig"} for kid, key in named]}
        ).encode()

    def claims(self, now: int, **changes: Any) -> dict[str, Any]:
        """Claims of a good token, with changes; None removes a claim."""
        seconds = now // 1000
        good = {
            "iss": self.url,
            "aud": self.audience,
            "sub": "ada",
            "exp": seconds + 300,
            "iat": seconds,
            "tenants": ["acme"],
            "roles": ["submit"],
        }
        return {name: value for name, value in (good | changes).items() if value is not None}

    def token(self, now: int, **changes: Any) -> str:
        """A good RS256 token, with changed claims."""
        return signed({"alg": "RS256", "kid": "rsa-1", "typ": "JWT"}, self.claims(now, **changes), self.rsa)


def public(key: SigningKey) -> dict[str, Any]:
    """The public half of a key as a JWK."""
    return dict(key.as_dict(private=False))


def signed(header: dict[str, Any] | bytes, claims: dict[str, Any] | bytes, key: SigningKey) -> str:
    """A compact token signed as its header says (RS256 when the header names nothing we know)."""
    algorithm = header.get("alg") if isinstance(header, dict) else None
    start = f"{_part(header)}.{_part(claims)}"
    model = JWSRegistry.algorithms[
        algorithm if algorithm in ("RS256", "ES256", "EdDSA", "PS256") else "RS256"
    ]
    return f"{start}.{encoded(model.sign(start.encode(), key))}"


def encoded(data: bytes) -> str:
    """Unpadded base64url."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def forged_jwts(issuer: Issuer, now: int) -> dict[str, str]:
    """Tokens to refuse, by what is wrong with them."""
    return {
        **dict(_wrong_algorithms(issuer, now)),
        **dict(_wrong_headers(issuer, now)),
        **dict(_wrong_claims(issuer, now)),
        **dict(_wrong_bytes(issuer, now)),
    }


def _wrong_algorithms(issuer: Issuer, now: int) -> Iterator[tuple[str, str]]:
    claims = issuer.claims(now)
    for name in ("none", "None", "NONE", "nOnE", ""):
        yield f"alg {name!r} without signature", f"{_part({'alg': name, 'typ': 'JWT'})}.{_part(claims)}."
    for name, secret in (
        ("public PEM", issuer.rsa.as_pem(private=False)),
        ("public modulus", str(public(issuer.rsa)["n"]).encode()),
        ("public JWK", json.dumps(public(issuer.rsa)).encode()),
        ("empty key", b""),
    ):
        start = f"{_part({'alg': 'HS256', 'kid': 'rsa-1'})}.{_part(claims)}"
        yield f"HS256 with the {name}", f"{start}.{encoded(hmac.digest(secret, start.encode(), 'sha256'))}"
    yield "PS256, good key but not pinned", signed({"alg": "PS256", "kid": "rsa-1"}, claims, issuer.rsa)
    yield "RS256 named, EC key id", signed({"alg": "RS256", "kid": "ec-1"}, claims, issuer.rsa)
    yield (
        "ES256 with an all-zero signature",
        (f"{_part({'alg': 'ES256', 'kid': 'ec-1'})}.{_part(claims)}.{encoded(bytes(64))}"),
    )
    yield "alg is a list", signed({"alg": ["RS256"], "kid": "rsa-1"}, claims, issuer.rsa)
    yield "no alg", signed({"kid": "rsa-1"}, claims, issuer.rsa)


def _wrong_headers(issuer: Issuer, now: int) -> Iterator[tuple[str, str]]:
    claims, stranger = issuer.claims(now), issuer.stranger
    good = {"alg": "RS256", "kid": "rsa-1"}
    yield "signed by a stranger", signed(good, claims, stranger)
    for kid in ("../../../../dev/null", "rsa-1\x00", "rsa-1' OR '1'='1", "", "RSA-1", 1, ["rsa-1"]):
        yield f"kid {kid!r} by a stranger", signed(good | {"kid": kid}, claims, stranger)
        yield f"kid {kid!r}, key is good", signed(good | {"kid": kid}, claims, issuer.rsa)
    yield "no kid, several keys", signed({"alg": "RS256"}, claims, stranger)
    members: dict[str, Any] = {
        "jwk": public(stranger),
        "jku": "https://attacker.example/jwks.json",
        "x5u": "https://attacker.example/cert.pem",
        "x5c": ["MIIB"],
        "crit": ["exp"],
        "b64": False,
        "zip": "DEF",
        "typ": "logout+jwt",
    }
    for name, value in members.items():
        yield f"{name} in the header, by a stranger", signed(good | {name: value}, claims, stranger)
        yield f"{name} in the header, key is good", signed(good | {name: value}, claims, issuer.rsa)
    twice = b'{"alg":"none","alg":"RS256","kid":"rsa-1"}'
    yield "alg twice in the header", signed(twice, claims, issuer.rsa)


def _wrong_claims(issuer: Issuer, now: int) -> Iterator[tuple[str, str]]:
    seconds = now // 1000
    changes: tuple[dict[str, Any], ...] = (
        {"iss": "https://attacker.example"},
        {"iss": issuer.url + "/"},
        {"iss": [issuer.url]},
        {"iss": None},
        {"aud": "another-service"},
        {"aud": [issuer.audience + "x"]},
        {"aud": []},
        {"aud": {issuer.audience: 1}},
        {"aud": None},
        {"exp": seconds - 31},
        {"exp": None},
        {"exp": str(seconds + 300)},
        {"exp": True},
        {"exp": 10**400},
        {"nbf": seconds + 31},
        {"nbf": "soon"},
        {"iat": seconds + 3600},
        {"sub": None},
        {"sub": ""},
        {"sub": "ada\nroles=admin"},
        {"sub": 7},
        {"tenants": None},
        {"tenants": []},
        {"tenants": ["acme", "../globex"]},
        {"tenants": ["*", "acme"]},
        {"tenants": {"acme": True}},
        {"roles": None},
        {"roles": ["root"]},
        {"roles": {"admin": True}},
    )
    for change in changes:
        yield f"claims {str(change)[:60]}", issuer.token(now, **change)
    good = json.dumps(issuer.claims(now)).encode()
    header = {"alg": "RS256", "kid": "rsa-1"}
    yield "tenants twice", signed(header, good[:-1] + b',"tenants":["globex"]}', issuer.rsa)
    yield "exp is NaN", signed(header, good.replace(b'"exp": ', b'"exp": NaN, "was": '), issuer.rsa)
    yield "claims are a list", signed(header, b"[" + good + b"]", issuer.rsa)
    yield "claims are nested deep", signed(header, b"[" * 5_000, issuer.rsa)
    yield "claims are not JSON", signed(header, b"\xff\xfe", issuer.rsa)


def _wrong_bytes(issuer: Issuer, now: int) -> Iterator[tuple[str, str]]:
    token = issuer.token(now)
    header, _, signature = token.split(".")
    other = _part(issuer.claims(now, roles=["admin"]))
    yield "changed claims", f"{header}.{other}.{signature}"
    yield "cut signature", token[:-4]
    yield "no signature", f"{header}.{other}."
    yield "padded signature", f"{token}=="
    yield "another spelling of the last character", token[:-1] + _sibling(token[-1])
    yield "blank in front", f" {token}"
    yield "line break behind", f"{token}\n"
    yield "four parts", f"{token}.{signature}"
    yield "two parts", f"{header}.{other}"
    yield "five parts, as encrypted tokens have", f"{token}.a.b"
    yield "JSON serialisation", json.dumps({"protected": header, "payload": other, "signature": signature})
    yield "empty", ""
    yield "dots", ".."
    yield "parts too short to be anything", "e.e.e"
    yield "not ASCII", "é" + token[1:]
    yield "huge claims", issuer.token(now, filler="x" * 20_000)
    yield "huge header", signed({"alg": "RS256", "kid": "k" * 4_000}, issuer.claims(now), issuer.rsa)
    yield "a million characters", "eyJ" + "a" * 1_000_000 + ".e30.e30"


def forged_callbacks(binding: Binding, key: CallbackKey, expires_at: int, token: str) -> dict[str, str]:
    """Strings to refuse where `token` is good, for the same attempt and route."""
    prefix, key_id, expiry, mac = token.split(".")
    joined = f"{binding.tenant_id}{binding.job_id}{binding.step_id}{binding.attempt_no}{binding.lease_id}"
    weak = sha256(key.secret + joined.encode()).hexdigest()
    return {
        "empty": "",
        "no MAC": f"{prefix}.{key_id}.{expiry}.",
        "cut MAC": token[:-1],
        "longer MAC": f"{token}0",
        "upper-case MAC": f"{prefix}.{key_id}.{expiry}.{mac.upper()}",
        "changed MAC": f"{token[:-1]}{'0' if token[-1] != '0' else '1'}",
        "zero MAC": f"{prefix}.{key_id}.{expiry}.{'0' * 64}",
        "MAC of joined fields": f"{prefix}.{key_id}.{expiry}.{weak}",
        "later expiry": f"{prefix}.{key_id}.{expires_at + 1}.{mac}",
        "expiry with a zero in front": f"{prefix}.{key_id}.0{expiry}.{mac}",
        "expiry with a sign": f"{prefix}.{key_id}.+{expiry}.{mac}",
        "expiry in other digits": f"{prefix}.{key_id}.{expiry.translate(_ARABIC)}.{mac}",
        "expiry is a word": f"{prefix}.{key_id}.never.{mac}",
        "expiry is huge": f"{prefix}.{key_id}.{'9' * 100_000}.{mac}",
        "unknown key id": f"{prefix}.zzzzzzzz.{expiry}.{mac}",
        "key id is a path": f"{prefix}.../../etc.{expiry}.{mac}",
        "other prefix": f"lct2.{key_id}.{expiry}.{mac}",
        "more parts": f"{token}.x",
        "blank in front": f" {token}",
        "not ASCII": f"{token[:-1]}é",
        "lone surrogate": f"{token[:-1]}\ud800",
    }


def flipped(binding: Binding) -> dict[str, Binding]:
    """The same attempt with one field changed, and with one border between fields moved."""
    replace = msgspec.structs.replace
    return {
        "tenant": replace(binding, tenant_id=binding.tenant_id + "x"),
        "job": replace(binding, job_id=_changed(binding.job_id)),
        "step": replace(binding, step_id="other"),
        "attempt": replace(binding, attempt_no=binding.attempt_no + 1),
        "lease": replace(binding, lease_id=_changed(binding.lease_id)),
        "border": replace(
            binding, tenant_id=binding.tenant_id + binding.job_id[0], job_id=binding.job_id[1:]
        ),
        "swapped": replace(binding, job_id=binding.lease_id, lease_id=binding.job_id),
    }


def _changed(text: str) -> str:
    """The text with another last character."""
    return text[:-1] + ("e" if text.endswith("f") else "f")


def forged_keys(text: str) -> dict[str, str]:
    """API keys to refuse where `text` is good."""
    prefix, key_id, secret = text.split("_")
    stored = sha256(secret.encode()).hexdigest()[: len(secret)]
    return {
        "empty": "",
        "prefix only": "lk_",
        "no secret": f"{prefix}_{key_id}_",
        "cut secret": text[:-1],
        "longer secret": f"{text}a",
        "changed secret": f"{text[:-1]}{'a' if text[-1] != 'a' else 'b'}",
        "upper case": text.upper(),
        "upper-case secret": f"{prefix}_{key_id}_{secret.upper()}",
        "unknown id": f"{prefix}_{'a' * len(key_id)}_{secret}",
        "id and secret swapped": f"{prefix}_{secret}_{key_id}",
        "the stored hash as secret": f"{prefix}_{key_id}_{stored}",
        "blank behind": f"{text} ",
        "not ASCII": f"{text[:-1]}é",
        "lone surrogate": f"{text[:-1]}\ud800",
        "null": f"{text[:-1]}\x00",
    }


_ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")


def _part(value: dict[str, Any] | bytes) -> str:
    return encoded(value if isinstance(value, bytes) else json.dumps(value).encode())


def _sibling(character: str) -> str:
    """A base64 character that differs only in the bits a lax decoder drops."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return alphabet[alphabet.index(character) ^ 1]
