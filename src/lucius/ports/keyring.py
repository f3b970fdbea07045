"""The keyring: API keys at rest."""

from __future__ import annotations

from typing import Protocol

from lucius.security.keys import ApiKey


class Keyring(Protocol):
    """A store of API keys that several processes may share.

    A change made anywhere counts from the next `find` on, everywhere. Calls are quick enough for an
    event loop: `find` is on the path of every request.
    """

    def add(self, key: ApiKey) -> None:
        """Keep a new key; `Refused` when its id is taken."""
        ...

    def revoke(self, key_id: str, now: int) -> bool:
        """End a key for good. True when this call ended it; `NotFound` for an unknown id."""
        ...

    def find(self, key_id: str) -> ApiKey | None:
        """The key of that id, revoked and expired ones too."""
        ...

    def list(self) -> list[ApiKey]:
        """Every key ever made, oldest first."""
        ...

    def any(self) -> bool:
        """Whether a key was ever made. Revoking the last one does not open the doors again."""
        ...

    def close(self) -> None:
        """Let go of the store."""
        ...
