"""The settings of lifebook runs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, field_validator

from lucius.lifebook.core.policy import Policy


class LifebookSettings(BaseModel):
    """Where runs are kept, what runs them, how patient that is."""

    # lifebook runs
    lifebook_backend: Literal["sqlite", "aws", "off"] = "sqlite"
    """`sqlite`: `lifebook.db` in the data directory; `aws`: DynamoDB and SQS; `off`: no runs here."""
    lifebook_workflows: str = Field(
        default="lucius.lifebook.examples:registry", pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"
    )
    """`module:name` of the registry of workflows that the API takes and workers run."""
    lifebook_concurrency: int = Field(default=4, ge=0, le=256)
    """Runs at once in this process; 0: workers are elsewhere (`lucius lifebook worker`)."""
    lifebook_backoff_seconds: str = "30,120,600,1800"
    """Waits after failed attempts, with commas between; the last one counts for all further ones."""
    lifebook_lease_seconds: float = Field(default=60.0, ge=1, le=3600)
    """How long a worker may be silent before another takes its run."""
    lifebook_sweep_seconds: float = Field(default=5.0, gt=0)
    """How often lost messages, dead letters and due schedules are looked for."""
    lifebook_retention_days: float = Field(default=30.0, gt=0)
    """Runs are forgotten this long after they ended."""
    lifebook_opening_credits: float = Field(default=1000.0, ge=0, le=10**9)
    """Credits of a workspace that never had any; 0 where credits are sold."""
    lifebook_drop: Path | None = None
    """Files that appear in `WORKSPACE/WORKFLOW/` below start runs; None: none do."""
    lifebook_table: str = Field(default="lifebook-orchestrator-jobs", min_length=3)
    """The DynamoDB table."""
    lifebook_queue: str = Field(default="lifebook-orchestrator-queue", min_length=1)
    """The SQS queue."""
    lifebook_dlq: str = Field(default="lifebook-orchestrator-dlq", min_length=1)
    """The SQS queue of dead letters."""
    lifebook_region: str = Field(default="us-east-1", min_length=1)
    """The AWS region."""
    lifebook_endpoint: str | None = Field(default=None, pattern=r"^https?://[^\s]+$")
    """Where AWS is, if it is not AWS: a double on this machine."""
    lifebook_event_bus: str | None = None
    """The EventBridge bus for `workflow_run_completed`; None: a file, with the backend aws the log alone."""

    @field_validator("lifebook_backoff_seconds")
    @classmethod
    def _waits(cls, given: str) -> str:
        _seconds(given)
        return given

    @property
    def lifebook_policy(self) -> Policy:
        """How patient we are with runs."""
        lease = round(self.lifebook_lease_seconds * 1000)
        return Policy(
            backoff=tuple(round(seconds * 1000) for seconds in _seconds(self.lifebook_backoff_seconds)),
            lease=lease,
            lock_patience=lease,
            retention_seconds=round(self.lifebook_retention_days * 86_400),
        )


def _seconds(given: str) -> tuple[float, ...]:
    longest = 43_200.0  # what a queue can hide a message for
    try:
        waits = tuple(float(part) for part in given.split(","))
    except ValueError:
        waits = ()
    if not waits or not all(0 <= seconds <= longest for seconds in waits):
        raise ValueError(f"write seconds between 0 and {longest:g} with commas between, as 30,120,600,1800")
    return waits
