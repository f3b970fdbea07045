"""Protocols: recipes kept as data. A job carries a snapshot of its own."""

from __future__ import annotations

from typing import Any

import msgspec


class StepRecipe(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One step of a recipe, with its own timeouts and budgets. All times in milliseconds."""

    step_id: str
    step_type: str
    service: str
    payload_schema: dict[str, Any] = {}
    group: str | None = None
    ack_timeout: int = 30_000
    lease: int = 15 * 60_000
    dispatch_deadline: int = 60 * 60_000
    max_dispatch_attempts: int = 3
    max_execution_attempts: int = 3
    publish_backoff: tuple[int, ...] = (30_000, 120_000, 600_000)
    ack_backoff: tuple[int, ...] = (60_000, 300_000, 900_000)
    execution_backoff: tuple[int, ...] = (30_000, 120_000, 600_000)
    jitter: float = 0.2


class Protocol(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An ordered list of steps. Neighbours that share a `group` run side by side."""

    protocol_id: str
    version: str
    request_type: str
    steps: tuple[StepRecipe, ...]
    aliases: tuple[str, ...] = ()
    description: str = ""
    deadline: int | None = None
    """Milliseconds a job may take in all, pauses not counted; None: no limit."""


def stage_of(protocol: Protocol, index: int) -> range:
    """The indexes that may run together with step `index`."""
    group = protocol.steps[index].group
    if group is None:
        return range(index, index + 1)
    first = last = index
    while first > 0 and protocol.steps[first - 1].group == group:
        first -= 1
    while last + 1 < len(protocol.steps) and protocol.steps[last + 1].group == group:
        last += 1
    return range(first, last + 1)
