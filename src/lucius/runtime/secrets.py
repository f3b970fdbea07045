"""Where files lie: below the data directory, or in a private directory that dies with the process."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lucius.runtime.settings import Settings


class Secrets:
    """Paths of everything that must stay secret, and the root of everything else."""

    def __init__(self, settings: Settings) -> None:
        self._temporary = tempfile.TemporaryDirectory(prefix="lucius-") if settings.in_memory else None
        root = Path(self._temporary.name) if self._temporary else settings.data
        self.root = root
        self.keyring = ":memory:" if settings.in_memory else str(root / "keys.db")
        self.callbacks = root / "secrets" / "callback-keys.json"
        self.invoker = root / "secrets" / "invoker-token"
        self.webhooks = root / "secrets" / "webhook-keys.json"

    def close(self) -> None:
        """Let go of what dies with the process."""
        if self._temporary is not None:
            self._temporary.cleanup()
