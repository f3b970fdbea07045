"""When two creations are one: key spaces, the name of the uniqueness item, the fingerprint of a request.

Keys that people give and keys that triggers derive live in spaces of their own, so that no client can take
the key of a schedule's next run. All are scoped to their workspace.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Any

import rfc8785

from lucius.errors import Invalid


class KeySpace(StrEnum):
    """Who made a key."""

    CLIENT = "client"
    OWN = "own"
    """None was given: the run's own id, which nobody repeats."""
    SCHEDULE = "schedule"
    WEBHOOK = "webhook"
    FILE_DROP = "file_drop"
    RETRY = "retry"


def unique_id(workspace_id: str, space: KeySpace, key: str) -> str:
    """The name of the item that only one run can write: `idem#<workspace>#<hash of space and key>`."""
    digest = hashlib.sha256(f"{space.value}\0{key}".encode()).hexdigest()
    return f"idem#{workspace_id}#{digest}"


def fingerprint(workflow_id: str, trigger: str, given: dict[str, Any]) -> str:
    """What was asked for, hashed; equal requests have equal fingerprints, whatever their order of fields."""
    try:
        canonical = rfc8785.dumps([workflow_id, trigger, given])
    except (rfc8785.CanonicalizationError, UnicodeEncodeError) as error:
        raise Invalid(f"The input cannot be compared: {error}", code="INVALID_INPUT") from error
    return hashlib.sha256(canonical).hexdigest()
