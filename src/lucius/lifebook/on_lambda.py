"""The worker as an AWS Lambda."""

from __future__ import annotations

from typing import Any


def handle(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """One batch of messages."""
    raise NotImplementedError
