"""Questions before something that cannot be undone. Only a person at a terminal is ever asked."""

from __future__ import annotations

import sys


def agreed(question: str, *, yes: bool) -> bool:
    """True when the person agrees, said so with --yes, or nobody is there to ask."""
    if yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    sys.stderr.write(f"{question} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
