from __future__ import annotations

import pytest

from lucius.adapters.keyrings.sqlite import SqliteKeyring
from lucius.errors import Unauthenticated
from lucius.security.authenticate import Authenticator
from lucius.security.keys import Grant, mint
from lucius.security.principal import Role
from tests.security.builders import NOW, Clock, steady_bytes

SERVICE = Grant(name="worker", tenants=None, roles=frozenset({Role.SERVICE}), step_types=frozenset({"OCR"}))
OWN = mint(SERVICE, now=NOW, token_bytes=steady_bytes("own"))
OTHER = mint(SERVICE, now=NOW, token_bytes=steady_bytes("other"))


def test_a_key_of_the_process_itself_opens_the_door_before_and_after_the_first_key(clock: Clock) -> None:
    """The workers' key does not end open mode, and goes on when the first real key ends it."""
    keyring = SqliteKeyring(":memory:")
    door = Authenticator(keyring, open_mode=True, clock=clock, own=[OWN.key])
    modes = [door.open]
    assert door.at_once(None, OWN.text) == OWN.key.principal
    keyring.add(OTHER.key)
    modes.append(door.open)
    assert modes == [True, False]
    assert door.at_once(None, OWN.text) == OWN.key.principal
    assert keyring.find(OWN.key.key_id) is None


def test_the_key_of_another_process_opens_nothing(clock: Clock) -> None:
    """A key that another process made for its workers, or one with a wrong secret, is refused."""
    door = Authenticator(SqliteKeyring(":memory:"), open_mode=True, clock=clock, own=[OWN.key])
    for text in (OTHER.text, OWN.text[:-1] + ("a" if OWN.text[-1] != "a" else "b")):
        with pytest.raises(Unauthenticated):
            door.at_once(None, text)
