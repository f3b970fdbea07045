"""Calls that ask for work: submit a command, or only see what would become of it."""

from __future__ import annotations

from typing import Any

import msgspec

from lucius.sdk.answers import Receipt
from lucius.sdk.call import Call


def submit(envelope: dict[str, Any], *, key: str | None = None) -> Call[Receipt]:
    """Make a job of a command. Repeatable: the same command, or the same key, is the same job."""
    return Call(
        method="POST",
        path="/v1/orchestrate",
        answer=Receipt,
        repeatable=True,
        body=msgspec.json.encode(envelope),
        headers={"Idempotency-Key": key} if key is not None else {},
    )


def plan(envelope: dict[str, Any]) -> Call[dict[str, Any]]:
    """What would become of a command: protocol, lane, limits. Creates nothing."""
    return Call(
        method="POST",
        path="/v1/orchestrate:plan",
        answer=dict[str, Any],
        repeatable=True,
        body=msgspec.json.encode(envelope),
    )
