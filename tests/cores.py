"""The processors a test may keep busy: those of the machine, shared by the test processes that run."""

from __future__ import annotations

import os


def share() -> int:
    """How many programs a test starts at once when it has more than enough of them."""
    side_by_side = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return max(1, (os.cpu_count() or 1) // side_by_side)
