from __future__ import annotations

from pathlib import Path

import pytest

from lucius.adapters.keyrings.sqlite import SqliteKeyring
from lucius.errors import Unauthenticated
from lucius.security.authenticate import Authenticator, bearer, is_open
from lucius.security.keys import Grant, mint
from lucius.security.principal import ANONYMOUS, Principal, Role
from tests.security.builders import NOW, Clock, steady_bytes

MINTED = mint(
    Grant(name="ci", tenants=frozenset({"acme"}), roles=frozenset({Role.SUBMIT})),
    now=NOW,
    token_bytes=steady_bytes("auth"),
)
ADA = Principal(subject="jwt:ada", tenants=None, roles=frozenset({Role.READ}))


class Tokens:
    """A JWT verifier that knows one token."""

    async def verify(self, token: str) -> Principal:
        """Ada, or nobody."""
        if token != "eyJ.good.one":
            raise Unauthenticated("no")
        return ADA


@pytest.fixture
def keyring() -> SqliteKeyring:
    """An empty keyring in memory."""
    return SqliteKeyring(":memory:")


async def test_a_key_may_come_in_either_header(keyring: SqliteKeyring, clock: Clock) -> None:
    """X-API-Key and Authorization: Bearer are the same, and neither waits."""
    keyring.add(MINTED.key)
    door = Authenticator(keyring, Tokens(), open_mode=False, clock=clock)
    assert door.at_once(None, MINTED.text) == MINTED.key.principal
    assert door.at_once(f"bearer {MINTED.text}", None) == MINTED.key.principal
    assert await door.authenticate(f"Bearer {MINTED.text}", None) == MINTED.key.principal


async def test_a_jwt_is_left_to_its_verifier(keyring: SqliteKeyring, clock: Clock) -> None:
    """What is not one of our keys is checked as a token, or refused when no issuer is configured."""
    door = Authenticator(keyring, Tokens(), open_mode=False, clock=clock)
    assert door.at_once("Bearer eyJ.good.one", None) is None
    assert await door.authenticate("Bearer eyJ.good.one", None) == ADA
    without = Authenticator(keyring, open_mode=True, clock=clock)
    with pytest.raises(Unauthenticated):
        await without.authenticate("Bearer eyJ.good.one", None)


@pytest.mark.parametrize(
    ("authorization", "x_api_key"),
    [
        (None, ""),
        (None, "lk_"),
        (None, "lk_nobody_nothing"),
        (None, MINTED.text + "x"),
        ("", None),
        ("Bearer", None),
        ("Bearer ", None),
        ("Basic bGs6eA==", None),
        (MINTED.text, None),
        (f"Bearer  {MINTED.text}", None),
        (f"Bearer {MINTED.text}", MINTED.text),
        ("Bearer eyJ" + "a" * 10_000, None),
        ("Bearer lct1.k.1.00", None),
        ("Bearer \ud800", None),
    ],
)
@pytest.mark.parametrize("open_mode", [True, False])
async def test_a_bad_credential_is_refused_even_in_open_mode(
    keyring: SqliteKeyring, clock: Clock, authorization: str | None, x_api_key: str | None, open_mode: bool
) -> None:
    """A credential that does not verify never becomes an anonymous caller."""
    door = Authenticator(keyring, None if open_mode else Tokens(), open_mode=open_mode, clock=clock)
    with pytest.raises(Unauthenticated) as refused:
        await door.authenticate(authorization, x_api_key)
    assert MINTED.text not in refused.value.message


async def test_without_credentials_everybody_is_let_in(keyring: SqliteKeyring, clock: Clock) -> None:
    """Open mode gives a principal that says so."""
    assert is_open(keyring, jwt_configured=False)
    door = Authenticator(keyring, open_mode=True, clock=clock)
    principal = await door.authenticate(None, None)
    assert principal is ANONYMOUS
    assert principal.open
    assert principal.roles == frozenset(Role)


async def test_the_first_key_closes_open_mode_at_once(tmp_path: Path, clock: Clock) -> None:
    """A key made by the CLI while the server runs ends anonymous access with the next request."""
    server, cli = SqliteKeyring(tmp_path / "keys.db"), SqliteKeyring(tmp_path / "keys.db")
    door = Authenticator(server, open_mode=True, clock=clock)
    assert await door.authenticate(None, None) is ANONYMOUS
    cli.add(MINTED.key)
    assert not door.open
    with pytest.raises(Unauthenticated):
        await door.authenticate(None, None)
    cli.revoke(MINTED.key.key_id, NOW)
    with pytest.raises(Unauthenticated):
        await door.authenticate(None, None)
    assert not is_open(server, jwt_configured=False)
    server.close()
    cli.close()


async def test_open_mode_never_begins_later(keyring: SqliteKeyring, clock: Clock) -> None:
    """A server that started with an issuer, or closed, asks for a credential whatever the keyring holds."""
    assert not is_open(keyring, jwt_configured=True)
    for door in (
        Authenticator(keyring, open_mode=False, clock=clock),
        Authenticator(keyring, Tokens(), open_mode=True, clock=clock),
    ):
        with pytest.raises(Unauthenticated):
            await door.authenticate(None, None)


async def test_keys_expire_by_the_clock(keyring: SqliteKeyring, clock: Clock) -> None:
    """The authenticator's clock decides, at each request."""
    grant = Grant(name="short", tenants=None, roles=frozenset({Role.READ}), expires_at=NOW + 1)
    minted = mint(grant, now=NOW, token_bytes=steady_bytes("short"))
    keyring.add(minted.key)
    door = Authenticator(keyring, open_mode=False, clock=clock)
    assert door.at_once(None, minted.text)
    clock.now += 1
    with pytest.raises(Unauthenticated):
        door.at_once(None, minted.text)


def test_bearer_reads_what_follows_the_scheme() -> None:
    """The same reader serves callback tokens."""
    assert bearer("Bearer lct1.k.1.00") == "lct1.k.1.00"
