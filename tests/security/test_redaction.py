from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.security.callback_keys import new_key
from lucius.security.callback_tokens import Binding, mint
from lucius.security.keys import Grant
from lucius.security.keys import mint as mint_key
from lucius.security.redaction import MASK, redact, redact_text
from tests.security.builders import NOW, steady_bytes, the_issuer

canaries = st.integers().map(lambda number: f"CNRY{sha256(str(number).encode()).hexdigest()[:40]}")

#: The ways a secret stands in text, by kind.
PLACES: dict[str, Callable[[str], str]] = {
    "bearer": lambda s: f"Authorization: Bearer {s}",
    "basic": lambda s: f"authorization: Basic {s}==",
    "digest": lambda s: f'Authorization: Digest username="ada", response="{s}"',
    "header in JSON": lambda s: json.dumps({"Authorization": f"Bearer {s}"}),
    "header as Python shows it": lambda s: str([(b"authorization", f"Bearer {s}".encode())]),
    "scheme alone": lambda s: f"sent Bearer {s}",
    "cookie": lambda s: f"Set-Cookie: session={s}; Path=/",
    "SAS": lambda s: f"https://a.blob.core.windows.net/c/b?sv=2024&sig={s}%2B%3D&sp=r",
    "SAS inside a URL": lambda s: f"https://p.example/?u=https%3A%2F%2Fa.example%2Fb%3Fsig%3D{s}",
    "AWS query": lambda s: f"https://b.s3.amazonaws.com/k?X-Amz-Expires=60&X-Amz-Signature={s}",
    "AWS session": lambda s: f"https://b.s3.amazonaws.com/k?X-Amz-Security-Token={s}&x=1",
    "AWS header": lambda s: f"Authorization: AWS4-HMAC-SHA256 Credential=AKIA/x, Signature={s}",
    "user info": lambda s: f"amqps://ada:{s}@bus.example:5671/topic",
    "user alone": lambda s: f"https://{s}@host.example/x",
    "account key": lambda s: f"DefaultEndpointsProtocol=https;AccountKey={s}==;EndpointSuffix=x",
    "shared key": lambda s: f"Endpoint=sb://x/;SharedAccessKeyName=k;SharedAccessKey={s}=",
    "password": lambda s: f"could not log in with password={s}",
    "password in JSON": lambda s: json.dumps({"db": {"password": f'a "{s}" b'}}),
    "password in JSON in JSON": lambda s: json.dumps(json.dumps({"password": s})),
    "password as Python shows it": lambda s: repr({"password": s}),
    "api key": lambda s: f"x-api-key: {s}",
    "webhook secret": lambda s: f"signing with whsec_{s}",
    "private key": lambda s: f"-----BEGIN RSA PRIVATE KEY-----\n{s}\n{s}\n-----END RSA PRIVATE KEY-----",
    "JWT": lambda s: f"token was eyJhbGciOiJSUzI1NiJ9.{s}.{s}",
}
words = st.text(max_size=40)
blanks = st.sampled_from([" ", "\n", "\t", " - "])


def leaks(secret: str, shown: str) -> bool:
    """Whether eight or more characters in a row of a secret are in a text."""
    return any(secret[start : start + 8] in shown for start in range(len(secret) - 7))


@pytest.mark.parametrize("place", PLACES)
@given(canary=canaries, around=st.tuples(words, words), blank=blanks, limit=st.integers(0, 200))
def test_no_canary_sings(place: str, canary: str, around: tuple[str, str], blank: str, limit: int) -> None:
    """Whatever stands round a secret and wherever the text is cut, no part of the secret is left."""
    text = f"{around[0]}{blank}{PLACES[place](canary)}{blank}{around[1]}"
    assert leaks(canary, text)
    assert not leaks(canary, redact_text(text))
    assert not leaks(canary, redact_text(text, limit))
    assert len(redact_text(text, limit)) <= limit


def our_secrets() -> dict[str, str]:
    """A real key, callback token and JWT."""
    key = mint_key(
        Grant(name="k", tenants=None, roles=frozenset()), now=NOW, token_bytes=steady_bytes("redact")
    )
    binding = Binding(tenant_id="acme", job_id="j", step_id="s", attempt_no=1, lease_id="l")
    callback = new_key(now=NOW, token_bytes=steady_bytes("redact"))
    return {
        "lk": key.text,
        "lct": mint(binding, callback, NOW),
        "jwt": the_issuer().token(NOW),
    }


SECRETS = our_secrets()


@pytest.mark.parametrize("kind", SECRETS)
@given(before=st.text(max_size=30), after=st.text(max_size=30))
def test_our_own_secrets_are_known_by_their_shape(kind: str, before: str, after: str) -> None:
    """A key or token of ours needs no name beside it and no blank round it."""
    secret = SECRETS[kind]
    shown = redact_text(f"{before}{secret}{after}")
    assert not leaks(secret[24:], shown)


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_a_secret_somebody_else_cut_is_still_known(kind: str, share: float) -> None:
    """The front of a key or token is enough to know it by."""
    secret = SECRETS[kind]
    assert not leaks(secret[24:], redact_text(f"got {secret[: int(len(secret) * share)]}"))


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A record with a secret by name and one by shape."""

    client_secret: str
    note: str


@given(canary=canaries, depth=st.integers(0, 60))
def test_values_are_redacted_at_any_depth(canary: str, depth: int) -> None:
    """Mappings, sequences, bytes, records, keys and strangers are all looked into."""
    value: Any = {
        "callback_token": {"ack": canary, "result": [canary]},
        "x-api-key": canary,
        "clientSecret": canary.encode(),
        b"authorization": canary,
        "url": [f"https://h.example/?sig={canary}", (f"https://{canary}@h.example".encode(),)],
        "record": Record(client_secret=canary, note=f"password={canary}"),
        "error": ValueError(f"password={canary}"),
        f"token={canary}": 1,
    }
    for _ in range(depth):
        value = {"inner": [value]}
    assert not leaks(canary, str(redact(value)))
    assert not leaks(canary, json.dumps(redact({"event": value, "password": canary})))


@given(st.text())
def test_redaction_is_stable(text: str) -> None:
    """Redacting twice changes nothing more."""
    for sample in (text, f"password={text}", f"Authorization: {text}"):
        once = redact_text(sample)
        assert redact_text(once) == once


def test_what_is_no_secret_stays() -> None:
    """Ids, counts, refs and plain words pass unchanged."""
    plain = {
        "jobId": "0193f6e2-7c1a-7000-8000-123456789abc",
        "tokens": 512,
        "event": "bulk_insert_rows of 12 keys into global-bus-p15",
        "uri": "s3://bucket/acme/doc-1.pdf?versionId=3",
        "idempotency_key": "order-17",
        "design": "design: blue",
        "ok": True,
        "ratio": 0.5,
        "lease": None,
    }
    assert redact(plain) == plain
    assert redact({"token": None}) == {"token": None}


def test_the_mask_leaves_the_rest_readable() -> None:
    """Only the secret goes; quotes and neighbours stay."""
    assert redact_text('{"password": "a b", "x": 1}') == f'{{"password": "{MASK}", "x": 1}}'
    assert redact_text("GET https://h/x?sig=abc&sp=r failed") == f"GET https://h/x?sig={MASK}&sp=r failed"


def test_limits_cut_after_redaction() -> None:
    """A cut shows that it is one, and never exceeds the limit."""
    assert redact_text("abcdef", 6) == "abcdef"
    assert redact_text("abcdefg", 6) == "abcde…"
    assert redact_text("abc", 0) == ""
    assert redact(["abcdefg"], 6) == ["abcde…"]
