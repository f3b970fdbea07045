"""Commands to send, and a look into a ledger's file from outside."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import closing
from http.client import HTTPException
from pathlib import Path
from typing import Any

import apsw

from lucius.adapters.ledgers.sqlite.files import open_reader
from lucius.adapters.ledgers.sqlite.reader import Reader
from lucius.adapters.ledgers.sqlite.verify import verify
from lucius.core.events import StepSucceeded
from lucius.testing.processes import Caller, Server

ACCEPTED = 202
THREE = "OCR_EMBEDDING_SIS"


def command(
    key: str | None = None, *, tenant: str = "acme", kind: str = THREE, **more: Any
) -> dict[str, Any]:
    """A command that is valid as it stands."""
    found: dict[str, Any] = {
        "tenant_id": tenant,
        "request_type": kind,
        "input_ref": {"uri": f"s3://incoming/{key or 'a'}.pdf"},
        "output_ref": {"uri": "s3://outgoing/a/"},
        "payload": {},
        "schema_version": "1",
        **more,
    }
    return found | ({"idempotency_key": key} if key else {})


def submit(caller: Caller, body: dict[str, Any]) -> str:
    """Send a command; the job id it was answered with."""
    status, answer = caller.post("/v1/orchestrate", body)
    assert status == ACCEPTED, answer
    return str(answer["jobId"])


def submit_all(server: Server, keys: list[str], *, threads: int = 4, **more: Any) -> dict[str, str]:
    """Send these keys from several connections; what was acknowledged before the server went away."""
    acknowledged: dict[str, str] = {}

    def work(mine: list[str]) -> None:
        with server.caller() as caller:
            for key in mine:
                try:
                    status, answer = caller.post("/v1/orchestrate", command(key, **more))
                except (OSError, HTTPException):
                    return
                if status == ACCEPTED:
                    acknowledged[key] = answer["jobId"]

    workers = [threading.Thread(target=work, args=(keys[number::threads],)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return acknowledged


class Ledger:
    """What a ledger's file says, read by somebody who has no part in writing it."""

    def __init__(self, data: Path) -> None:
        self._path = data / "ledger.db"

    def count(self, what: str) -> int:
        """How many rows there are of `<table> [WHERE …]`; 0 while there is no ledger."""
        if not self._path.exists():
            return 0
        try:
            with closing(open_reader(str(self._path))) as connection:
                found: int = Reader(connection).query(f"SELECT count(*) FROM {what}")[0][0]
                return found
        except apsw.Error:  # it is just being made, or just being recovered
            return 0

    def succeeded_steps(self) -> int:
        """Step results accepted so far."""
        return self.count("events WHERE type = 'step.succeeded'")

    def open_jobs(self) -> int:
        """Jobs that are not over."""
        return self.count("jobs WHERE completed_at IS NULL")

    def states(self) -> Counter[str]:
        """Jobs by state."""
        with closing(open_reader(str(self._path))) as connection:
            return Counter(state for (state,) in connection.execute("SELECT state FROM jobs"))

    def step_states(self) -> set[str]:
        """The states that steps stand in."""
        with closing(open_reader(str(self._path))) as connection:
            return {state for (state,) in connection.execute("SELECT DISTINCT state FROM steps")}

    def job_ids(self) -> set[str]:
        """Every job there is."""
        with closing(open_reader(str(self._path))) as connection:
            return {job_id for (job_id,) in connection.execute("SELECT job_id FROM jobs")}

    def breaches(self) -> list[str]:
        """Every promise that the file shows broken: the life of each job from its first event."""
        found = [f"{one.promise} {one.job_id}: {one.what}" for one in verify(self._path).findings]
        with closing(open_reader(str(self._path))) as connection:
            reader = Reader(connection)
            ids = [job_id for (job_id,) in reader.query("SELECT job_id FROM jobs")]
            for job_id in ids:
                events = reader.events(job_id, 0, 100_000)
                found += [f"S13 {job_id}: a gap" for n, event in enumerate(events, 1) if event.seq != n]
                twice = Counter(event.step_id for event in events if isinstance(event, StepSucceeded))
                found += [f"S6 {job_id}: {step} succeeded {n} times" for step, n in twice.items() if n > 1]
        return found
