from __future__ import annotations

import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.errors import Invalid, Unauthenticated
from lucius.security.callback_keys import (
    ACTIVATION_DELAY_MS,
    CallbackKey,
    CallbackKeys,
    check_secret,
    new_key,
    rotated,
)
from lucius.security.callback_tokens import Binding, mint, verify
from lucius.testing.forgeries import flipped, forged_callbacks
from tests.security.builders import NOW, steady_bytes

KEY = new_key(now=NOW, token_bytes=steady_bytes("callback"))
KEYS = CallbackKeys([KEY])
EXPIRY = NOW + 60_000
BINDING = Binding(tenant_id="acme", job_id="0193-a1", step_id="ocr", attempt_no=1, lease_id="0193-b2")
TOKEN = mint(BINDING, KEY, EXPIRY)

names = st.text(max_size=6)
bindings = st.builds(
    Binding,
    tenant_id=names,
    job_id=names,
    step_id=names,
    attempt_no=st.integers(min_value=0, max_value=10**9),
    lease_id=names,
)


@given(bindings, st.integers(min_value=NOW + 1, max_value=2**53))
def test_a_minted_token_verifies(binding: Binding, expires_at: int) -> None:
    """Every token is good for its own attempt, as often as it is sent."""
    token = mint(binding, KEY, expires_at)
    verify(token, binding, KEYS, NOW)
    verify(token, binding, KEYS, NOW)


@given(bindings, bindings)
def test_no_two_attempts_share_a_token(one: Binding, other: Binding) -> None:
    """Lengths are part of what is signed, so moving a border between fields changes the token."""
    same = mint(one, KEY, EXPIRY) == mint(other, KEY, EXPIRY)
    assert same == (one == other)


@pytest.mark.parametrize("name", flipped(BINDING))
def test_a_token_is_bound_to_every_field(name: str) -> None:
    """With one field changed the token is refused."""
    verify(TOKEN, BINDING, KEYS, NOW)
    with pytest.raises(Unauthenticated):
        verify(TOKEN, flipped(BINDING)[name], KEYS, NOW)


@pytest.mark.parametrize("name", forged_callbacks(BINDING, KEY, EXPIRY, TOKEN))
def test_forged_callback_tokens_are_refused(name: str) -> None:
    """Nothing but the token itself is the token."""
    forged = forged_callbacks(BINDING, KEY, EXPIRY, TOKEN)[name]
    with pytest.raises(Unauthenticated):
        verify(forged, BINDING, KEYS, NOW)


def test_a_token_ends_at_its_expiry() -> None:
    """Expiry is exclusive, to the millisecond, and cannot be moved."""
    verify(TOKEN, BINDING, KEYS, EXPIRY - 1)
    with pytest.raises(Unauthenticated) as refused:
        verify(TOKEN, BINDING, KEYS, EXPIRY)
    assert refused.value.code == "TOKEN_EXPIRED"


def test_republished_directives_carry_the_same_bytes() -> None:
    """Minting has no chance in it."""
    assert mint(BINDING, KEY, EXPIRY) == mint(BINDING, KEY, EXPIRY)


@given(st.binary(min_size=32, max_size=200), st.binary(max_size=300))
def test_the_mac_is_hmac_sha256(tail: bytes, message: bytes) -> None:
    """The hand-made states give what the standard library gives, for every length of key."""
    secret = bytes(range(200, 232)) + tail
    key = CallbackKey(key_id="k", secret=secret, created_at=0, active_from=0)
    expected = hmac.digest(secret, message, "sha256").hex()
    assert key.mac(message) == expected


def test_old_tokens_outlive_a_rotation() -> None:
    """Both keys verify; the new one signs only when every process has had time to read it."""
    after = rotated(KEYS, now=NOW, token_bytes=steady_bytes("next"))
    verify(TOKEN, BINDING, after, NOW)
    assert after.signing(NOW) is KEY
    signing = after.signing(NOW + ACTIVATION_DELAY_MS)
    assert signing is not KEY
    verify(mint(BINDING, signing, EXPIRY), BINDING, after, NOW)
    with pytest.raises(Unauthenticated):
        verify(mint(BINDING, signing, EXPIRY), BINDING, KEYS, NOW)


def test_keys_are_dropped_when_no_token_can_need_them() -> None:
    """A key goes one token lifetime after its successor began to sign, not before."""
    lifetime, chance = 1_000_000, steady_bytes("rotate")
    second = rotated(KEYS, now=NOW, token_bytes=chance, lifetime=lifetime)
    retired = NOW + ACTIVATION_DELAY_MS + lifetime
    just_before = rotated(second, now=retired - 1, token_bytes=chance, lifetime=lifetime)
    just_after = rotated(second, now=retired, token_bytes=chance, lifetime=lifetime)
    assert just_before.find(KEY.key_id) is KEY
    assert just_after.find(KEY.key_id) is None
    assert len(just_after.keys) == 2


def test_a_clock_that_runs_behind_still_signs() -> None:
    """With no key active yet the oldest one signs."""
    assert KEYS.signing(0) is KEY


@pytest.mark.parametrize(
    "secret",
    [b"", b"short", b"a" * 64, b"changeme" * 8, b"My-Secret-0123456789abcdefghijklmnop", bytes(range(31))],
)
def test_weak_secrets_are_refused(secret: bytes) -> None:
    """Short, repetitive and placeholder secrets make no key, and the message does not quote them."""
    with pytest.raises(Invalid) as refused:
        CallbackKey(key_id="k1", secret=secret, created_at=0, active_from=0)
    assert refused.value.code == "WEAK_SECRET"
    assert secret == b"" or secret.decode("latin-1") not in refused.value.message


@given(st.integers())
def test_random_secrets_are_strong_enough(seed: int) -> None:
    """The check for weakness does not refuse what chance gives."""
    check_secret(steady_bytes(str(seed))(32))


def test_key_sets_are_sound() -> None:
    """No key at all, two keys of one id, and ids that would break a token apart are refused."""
    twin = CallbackKey(key_id=KEY.key_id, secret=steady_bytes("twin")(32), created_at=1, active_from=1)
    for keys in ([], [KEY, twin]):
        with pytest.raises(Invalid):
            CallbackKeys(keys)
    for key_id in ("", "a.b", "A", "é", "x" * 17):
        with pytest.raises(Invalid):
            CallbackKey(key_id=key_id, secret=KEY.secret, created_at=0, active_from=0)


def test_keys_do_not_show_their_secrets() -> None:
    """Keys can be put into a log line without harm."""
    shown = f"{KEY!r} {KEYS!r}"
    assert KEY.key_id in shown
    assert KEY.secret.hex() not in shown
    assert repr(KEY.secret) not in shown
