"""What the kit knows about one attempt: what was lent, what was said about it, and what to answer.

An attempt is open until its first RESULT is accepted, or until a case takes it away (`superseded`,
`terminal`). What a case scripts (`refusals`, `forced`, `cancel_requested`) changes answers, never memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from lucius.core.job import Fault, Ref
from lucius.wire.messages import ReplyMessage, ResultMessage

KINDS: Final = {"AckMessage": "ACK", "HeartbeatMessage": "HEARTBEAT", "ResultMessage": "RESULT"}
LOST: Final = frozenset({"stale_lease", "after_terminal", "conflict", "unknown"})


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """What Lucius judges of a RESULT. Two equal ones are one: when it was sent does not count."""

    status: str
    output_ref: Ref | None = None
    artifacts: tuple[Ref, ...] = ()
    error: Fault | None = None

    def told(self) -> str:
        """In a few words."""
        if self.error is not None:
            return f"{self.status} {self.error.code}: {self.error.message}"[:300]
        return self.status


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One reply of the service, and what it was answered."""

    kind: str
    at: float
    answer: str
    """A verdict, or `503` when the answer was withheld."""
    reported: Reported | None = None


class Attempt:
    """One attempt at one step of one job."""

    def __init__(
        self, *, ids: dict[str, Any], token: str, lease: float, workspace: Path, folder: Path
    ) -> None:
        self.ids = ids
        """`jobId`, `stepId`, `tenant_id`, `attempt_no`, `lease_id`: what every reply must name."""
        self.token = token
        self.lease = lease
        self.workspace = workspace
        self.folder = folder
        """Where this attempt, and no other, may write."""
        self.document: dict[str, Any] = {}
        """The directive."""
        self.lent_at: list[float] = []
        self.said: list[Said] = []
        self.result: Reported | None = None
        self.refusals: dict[str, int] = {}
        """How many of the next replies of a kind are answered 503."""
        self.forced: dict[str, str] = {}
        """The verdict that replies of a kind get, whatever they say."""
        self.cancel_requested = False
        self.superseded = False
        self.terminal = False

    @property
    def job_id(self) -> str:
        """The job it belongs to."""
        return str(self.ids["jobId"])

    @property
    def name(self) -> str:
        """For messages to people."""
        return f"attempt {self.ids['attempt_no']} of job {self.job_id}"

    def of(self, kind: str) -> list[Said]:
        """The replies of a kind that came, in their order."""
        return [one for one in self.said if one.kind == kind]

    def heard(self, kind: str) -> list[Said]:
        """The replies of a kind that were not put off with 503."""
        return [one for one in self.of(kind) if one.answer != "503"]

    def bodies(self) -> list[Reported]:
        """The different RESULTs that came, in their order."""
        found: list[Reported] = []
        for one in self.of("RESULT"):
            if one.reported is not None and one.reported not in found:
                found.append(one.reported)
        return found

    def verdict(self, kind: str, reported: Reported | None) -> str:
        """What Lucius says to a reply about this attempt."""
        if kind in self.forced:
            return self.forced[kind]
        if self.superseded:
            return "stale_lease"
        if self.result is not None:
            return "conflict" if reported is not None and reported != self.result else "duplicate"
        if self.terminal:
            return "after_terminal"
        if kind == "ACK" and self.heard("ACK"):
            return "duplicate"
        return "accepted"


def reported_by(reply: ReplyMessage) -> Reported | None:
    """What a RESULT reports; None for other replies."""
    if not isinstance(reply, ResultMessage):
        return None
    return Reported(
        status=reply.status, output_ref=reply.output_ref, artifacts=reply.artifacts, error=reply.error
    )
