"""What things are called in AWS: the contract's names, and the limits beside them, as in Terraform."""

from __future__ import annotations

import msgspec

from lucius.lifebook.ports.queue import MAX_RECEIVES

REGION = "us-east-1"
TABLE = "lifebook-orchestrator-jobs"
QUEUE = "lifebook-orchestrator-queue"
DEAD_LETTERS = "lifebook-orchestrator-dlq"

KEY = "job_id"
WORKSPACE_INDEX = "workspace_created_at"
WORKSPACE_INDEX_KEYS = ("workspace_id", "created_at")
WORKSPACE_INDEX_SHOWS = ("status", "workflow_id", "trigger_type", "credits_estimate")
SWEEP_INDEX = "sweep_due_at"
"""Sparse: only items that somebody must look at some day have its attributes."""
SWEEP_INDEX_KEYS = ("sweep", "due_at")
SWEEP_SHARDS = 8
TTL = "ttl_at"
STREAM = "NEW_AND_OLD_IMAGES"

RECEIVES = MAX_RECEIVES
VISIBILITY_SECONDS = 90
RETENTION_SECONDS = 14 * 86_400

EVENT_SOURCE = "lucius.lifebook"
EVENT_BUS = "default"


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """The names of one installation; tests have others, so that they do not meet."""

    table: str = TABLE
    queue: str = QUEUE
    dead_letters: str = DEAD_LETTERS
