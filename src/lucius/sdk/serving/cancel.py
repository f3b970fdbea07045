"""A token that says whether the work should stop, and why. Safe to look at from any thread."""

from __future__ import annotations

import threading

from lucius.sdk.serving.outcomes import Cancelled


class CancelToken:
    """Set once, never cleared."""

    __slots__ = ("_event", "reason")

    def __init__(self) -> None:
        self._event = threading.Event()
        self.reason = ""

    @property
    def requested(self) -> bool:
        """Whether somebody asked for the work to stop."""
        return self._event.is_set()

    def request(self, reason: str) -> None:
        """Ask for the work to stop; the first reason stands."""
        if not self._event.is_set():
            self.reason = reason
            self._event.set()

    def check(self) -> None:
        """Raise `Cancelled` if the work should stop; call it between pages, chunks, rows."""
        if self._event.is_set():
            raise Cancelled(self.reason)

    def wait(self, seconds: float) -> bool:
        """In a thread: pause for so long, or until the work should stop; True if it should."""
        return self._event.wait(seconds)
