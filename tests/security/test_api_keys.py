from __future__ import annotations

import secrets
import stat
from pathlib import Path

import msgspec
import pytest

from lucius.adapters.keyrings.sqlite import SqliteKeyring
from lucius.errors import NotFound, Refused, Unauthenticated, Unavailable
from lucius.security.keys import Grant, Minted, key_id_of, mint, verify
from lucius.security.principal import Role
from lucius.testing.forgeries import forged_keys
from tests.security.builders import NOW, steady_bytes

GRANT = Grant(name="ci", tenants=frozenset({"acme"}), roles=frozenset({Role.SUBMIT}))


def fresh(seed: str = "key", grant: Grant = GRANT) -> Minted:
    """A key that is the same in every run."""
    return mint(grant, now=NOW, token_bytes=steady_bytes(seed))


def test_a_key_verifies_to_what_it_was_granted() -> None:
    """Tenants, roles and step types come back as they were given."""
    grant = msgspec.structs.replace(GRANT, step_types=frozenset({"OCR"}))
    minted = fresh(grant=grant)
    principal = verify(minted.text, minted.key, now=NOW)
    assert principal.subject == f"key:{minted.key.key_id}" == f"key:{key_id_of(minted.text)}"
    assert (principal.tenants, principal.roles) == (grant.tenants, grant.roles)
    assert principal.step_types == frozenset({"OCR"})
    assert not principal.open


def test_the_secret_has_256_bits_and_is_not_kept() -> None:
    """What is stored does not contain what is needed to log in."""
    asked: list[int] = []

    def token_bytes(size: int) -> bytes:
        asked.append(size)
        return secrets.token_bytes(size)

    minted = mint(GRANT, now=NOW, token_bytes=token_bytes)
    secret = minted.text.rsplit("_", 1)[1]
    assert max(asked) == 32
    assert secret.encode() not in msgspec.msgpack.encode(minted.key)
    assert secret not in repr(minted)
    assert secret not in repr(minted.key)


@pytest.mark.parametrize("name", forged_keys(fresh().text))
def test_forged_keys_are_refused(name: str) -> None:
    """Nothing but the key itself is the key."""
    minted = fresh()
    forged = forged_keys(minted.text)[name]
    with pytest.raises(Unauthenticated):
        verify(forged, minted.key if key_id_of(forged) == minted.key.key_id else None, now=NOW)


def test_unknown_wrong_revoked_and_expired_look_the_same() -> None:
    """The answer does not tell which keys exist."""
    minted = fresh()
    replace = msgspec.structs.replace
    answers = set()
    for text, key in (
        (minted.text, None),
        (fresh("other").text, minted.key),
        (minted.text, replace(minted.key, revoked_at=NOW - 1)),
        (minted.text, replace(minted.key, expires_at=NOW)),
    ):
        with pytest.raises(Unauthenticated) as refused:
            verify(text, key, now=NOW)
        answers.add((refused.value.code, refused.value.message))
    assert len(answers) == 1


def test_a_key_is_good_until_the_moment_it_expires() -> None:
    """Expiry is exclusive, to the millisecond."""
    minted = fresh(grant=msgspec.structs.replace(GRANT, expires_at=NOW + 10))
    assert verify(minted.text, minted.key, now=NOW + 9) == minted.key.principal
    with pytest.raises(Unauthenticated):
        verify(minted.text, minted.key, now=NOW + 10)


def test_keys_survive_a_restart_unchanged(tmp_path: Path) -> None:
    """What was added is found again, oldest first."""
    first, second = fresh("one").key, msgspec.structs.replace(fresh("two").key, created_at=NOW + 1)
    ring = SqliteKeyring(tmp_path / "keys.db")
    assert not ring.any()
    ring.add(second)
    ring.add(first)
    ring.close()
    again = SqliteKeyring(tmp_path / "keys.db")
    assert again.list() == [first, second]
    assert again.find(first.key_id) == first
    assert again.find("nobody") is None
    again.close()


def test_a_revocation_elsewhere_counts_at_once(tmp_path: Path) -> None:
    """The next lookup after another process revoked a key sees it revoked."""
    server, cli = SqliteKeyring(tmp_path / "keys.db"), SqliteKeyring(tmp_path / "keys.db")
    minted = fresh()
    cli.add(minted.key)
    assert verify(minted.text, server.find(minted.key.key_id), now=NOW) == minted.key.principal
    assert cli.revoke(minted.key.key_id, NOW + 5)
    with pytest.raises(Unauthenticated):
        verify(minted.text, server.find(minted.key.key_id), now=NOW + 5)
    server.close()
    cli.close()


def test_revoking_is_final_and_does_not_open_the_doors(tmp_path: Path) -> None:
    """A second revocation changes nothing, an unknown key is an error, and `any` stays true."""
    ring = SqliteKeyring(tmp_path / "keys.db")
    key = fresh().key
    ring.add(key)
    assert ring.revoke(key.key_id, NOW + 1)
    assert not ring.revoke(key.key_id, NOW + 2)
    found = ring.find(key.key_id)
    assert found is not None
    assert found.revoked_at == NOW + 1
    assert ring.any()
    with pytest.raises(NotFound):
        ring.revoke("nobody", NOW)
    with pytest.raises(Refused):
        ring.add(key)
    ring.close()


def test_lookups_do_not_reread_what_has_not_changed(tmp_path: Path) -> None:
    """The hot path reads no rows while nobody writes."""
    ring = SqliteKeyring(tmp_path / "keys.db")
    ring.add(fresh().key)
    ring.find("warm-up")
    statements: list[str] = []
    ring._db.trace_v2(1, lambda event: statements.append(str(event["sql"])))
    for _ in range(3):
        ring.find(fresh().key.key_id)
    assert statements == ["PRAGMA data_version"] * 3
    ring.close()


def test_the_files_are_private(tmp_path: Path) -> None:
    """Neither the keyring nor SQLite's files beside it can be read by others, even if one was."""
    path = tmp_path / "keys.db"
    path.touch(mode=0o644)
    ring = SqliteKeyring(path)
    ring.add(fresh().key)
    files = list(tmp_path.iterdir())
    assert len(files) == 3
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    ring.close()


def test_a_broken_keyring_vouches_for_nobody(tmp_path: Path) -> None:
    """A file that is no keyring, or one from the future, stops the start with a sentence."""
    garbage = tmp_path / "garbage.db"
    garbage.write_bytes(b"not a database" * 100)
    with pytest.raises(Unavailable, match="cannot be opened"):
        SqliteKeyring(garbage)
    newer = SqliteKeyring(tmp_path / "newer.db")
    newer._db.execute("PRAGMA user_version = 99")
    newer.close()
    with pytest.raises(Unavailable, match="newer Lucius"):
        SqliteKeyring(tmp_path / "newer.db")


def test_a_keyring_that_fails_later_says_so(tmp_path: Path) -> None:
    """Once the table is gone every verb is Unavailable; nothing is answered from memory."""
    ring, other = SqliteKeyring(tmp_path / "keys.db"), SqliteKeyring(tmp_path / "keys.db")
    key = fresh().key
    ring.add(key)
    assert ring.find(key.key_id) == key
    other._db.execute("DROP TABLE api_keys")
    for verb in (lambda: ring.find(key.key_id), ring.any, ring.list, lambda: ring.add(key)):
        with pytest.raises(Unavailable):
            verb()
    with pytest.raises(Unavailable):
        ring.revoke(key.key_id, NOW)
    ring.close()
    other.close()
