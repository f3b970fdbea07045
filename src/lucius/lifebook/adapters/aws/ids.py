"""What items are called. Runs have UUIDs; all other items have a `#`, so that none is taken for a run."""

from __future__ import annotations

import hashlib
import zlib

from lucius.lifebook.adapters.aws.names import SWEEP_SHARDS

MARK = "#"
_LONGEST = 128


def is_run_id(job_id: str) -> bool:
    """Whether a run can have this id."""
    return 0 < len(job_id) <= _LONGEST and MARK not in job_id


def wallet_id(workspace_id: str) -> str:
    """The credits of a workspace."""
    return f"wallet#{workspace_id}"


def deposit_id(workspace_id: str, given: str) -> str:
    """One deposit. Whoever makes it chooses the name, so it is hashed."""
    return f"deposit#{workspace_id}#{hashlib.sha256(given.encode()).hexdigest()}"


def event_id(job_id: str) -> str:
    """The one event of a run."""
    return f"event#{job_id}"


def schedule_id(given: str) -> str:
    """A schedule."""
    return f"schedule#{given}"


def hook_id(given: str) -> str:
    """A hook."""
    return f"hook#{given}"


def listed_under(kind: str, workspace_id: str) -> str:
    """Where the index of workspaces lists what is not a run: beside the workspace, never in it."""
    return f"{kind}#{workspace_id}"


def sweep(kind: str, identity: str) -> str:
    """The shard of the sweep index; several, because all writes of one would meet in one partition."""
    return f"{kind}#{zlib.crc32(identity.encode()) % SWEEP_SHARDS}"


def sweeps(kind: str) -> list[str]:
    """All shards of a kind."""
    return [f"{kind}#{shard}" for shard in range(SWEEP_SHARDS)]
