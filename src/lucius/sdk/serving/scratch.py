"""A directory for temporary files, made when it is first asked for: most work never does.

Making and removing a directory costs more than everything else the SDK does for a step. It may be asked for
from any thread. Files in it that cannot be removed are left behind without a word.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from types import TracebackType


class Scratch:
    """Below `root`, or where the system puts temporary files; gone on the way out."""

    def __init__(self, root: Path | None) -> None:
        self._root = root
        self._making = threading.Lock()
        self._made: tempfile.TemporaryDirectory[str] | None = None

    def path(self) -> Path:
        """The directory, always the same one."""
        with self._making:
            if self._made is None:
                self._made = tempfile.TemporaryDirectory(
                    prefix="lucius-", dir=self._root, ignore_cleanup_errors=True
                )
            return Path(self._made.name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._making:
            if self._made is not None:
                self._made.cleanup()
