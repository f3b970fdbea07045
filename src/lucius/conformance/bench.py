"""What a case works with: verbs to give work, to wait for replies, and to fail with a precise sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from lucius.conformance.attempts import Attempt, Reported
from lucius.conformance.findings import Failed, NotJudged
from lucius.conformance.ledger import Ledger, Parcel
from lucius.conformance.options import Options
from lucius.conformance.subject import Subject
from lucius.wire.timestamps import iso

_LONG_LEASE = 900.0
_ANSWERS = ("ack", "heartbeat", "result")


class Bench:
    """One run's tools."""

    def __init__(
        self, *, ledger: Ledger, subject: Subject, options: Options, home: Path, url: str, step_type: str
    ) -> None:
        self.ledger = ledger
        self.subject = subject
        self.options = options
        self.home = home
        self.url = url
        self.step_type = step_type
        self.document = options.input or self._small_document()
        self._faults_before = 0

    def begin(self) -> None:
        """A new case: what is refused from now on is its business."""
        self._faults_before = len(self.ledger.faults)

    # Work to give.

    def attempt(
        self,
        *,
        payload: dict[str, Any] | None = None,
        source: str | None = None,
        tenant: str = "acme",
        after: Attempt | None = None,
        lease: float = _LONG_LEASE,
        more: dict[str, Any] | None = None,
    ) -> Attempt:
        """A new attempt: the first of a new job, or the one `after` another of the same job."""
        ledger = self.ledger
        job_id = after.job_id if after is not None else ledger.new_id()
        number = after.ids["attempt_no"] + 1 if after is not None else 1
        tenant = after.ids["tenant_id"] if after is not None else tenant
        ids = {
            "jobId": job_id, "stepId": self.step_type.lower(), "tenant_id": tenant, "attempt_no": number,
            "lease_id": ledger.new_id(),
        }  # fmt: skip
        workspace = self.home / "workspaces" / tenant / job_id
        made = Attempt(
            ids=ids, token=f"lct1.kit.{ledger.new_id()}", lease=lease, workspace=workspace,
            folder=workspace / self.step_type / str(number),
        )  # fmt: skip
        payload = payload if payload is not None else (self.options.payload or {})
        made.document = self._directive(made, payload, source or self.document) | (more or {})
        ledger.attempts[made.token] = made
        return made

    def slow(self, *, after: Attempt | None = None) -> Attempt:
        """An attempt that lasts, under a short lease; not judged when there is no example of slow work."""
        options = self.options
        if options.slow_payload is None and options.slow_input is None:
            raise NotJudged("give --slow-payload or --slow-input: work that outlasts the lease")
        return self.attempt(
            payload=options.slow_payload, source=options.slow_input, after=after, lease=options.lease
        )

    def give(self, attempt: Attempt) -> Parcel:
        """Let the service take the attempt's directive; given again, it is a duplicate."""
        body = msgspec.json.encode(attempt.document)
        return self.ledger.put(Parcel(body, self.step_type, attempt.ids["tenant_id"], attempt))

    def give_raw(self, document: Any) -> Parcel:
        """Let the service take something that is no directive."""
        return self.ledger.put(Parcel(msgspec.json.encode(document), self.step_type, "acme", None))

    # What to wait for.

    async def taken(self, parcel: Parcel) -> None:
        """The service took it."""
        within = self.options.ack_within
        await self.wait(lambda: parcel.count > 0, within, f"it did not take a directive within {within:g} s")

    async def acked(self, attempt: Attempt) -> None:
        """The service took the directive and acknowledged it in time."""
        within = self.options.ack_within
        missing = f"no ACK for {attempt.name} within {within:g} s"
        await self.wait(lambda: bool(attempt.heard("ACK")), within, missing)

    async def working(self, attempt: Attempt) -> None:
        """The service is at work: it acknowledged, and there is no RESULT yet."""
        await self.acked(attempt)
        if attempt.of("RESULT"):
            raise NotJudged("the slow work was over at once; give slower work")

    async def at_work(self, attempt: Attempt) -> None:
        """The service is in the middle of it."""
        await self.working(attempt)
        await self.quiet()
        if attempt.of("RESULT"):
            raise NotJudged("the slow work was over at once; give slower work")

    async def result(self, attempt: Attempt, *, within: float | None = None) -> Reported:
        """The RESULT that was accepted."""
        patience = within or self.options.work_within
        missing = f"no RESULT for {attempt.name} within {patience:g} s"
        await self.wait(lambda: attempt.result is not None, patience, missing)
        assert attempt.result is not None  # noqa: S101 - waited for above
        return attempt.result

    async def success(self, attempt: Attempt, *, within: float | None = None) -> Reported:
        """The RESULT, which must be a success."""
        reported = await self.result(attempt, within=within)
        if reported.status != "SUCCEEDED":
            wanted = "give --payload, --input, or inputs in the file of --with"
            told = f"{attempt.name} ended {reported.told()}"
            raise Failed(f"{told}; if it cannot work on the kit's example, {wanted}")
        return reported

    def kept(self, parcel: Parcel) -> None:
        """The service did not leave the directive lying until its lock ran out."""
        if parcel.lapses:
            lock = self.ledger.lock_seconds
            raise Failed(f"it took a directive and left it lying until its lock of {lock:g} s ran out")

    async def done(self, **wanted: Any) -> Attempt:
        """Give ordinary work and see it succeed."""
        attempt = self.attempt(**wanted)
        self.give(attempt)
        await self.success(attempt)
        return attempt

    async def wait(self, holds: Callable[[], bool], within: float, otherwise: str) -> None:
        """Wait until something holds; fail with a sentence if it does not, or if the service died."""
        died = self.subject.died
        await self.ledger.until(lambda: holds() or died() is not None, within)
        if holds():
            return
        refused = [one.told() for one in self.ledger.faults[self._faults_before :]]
        because = [died() or "", otherwise, f"a call of it was refused: {refused[0]}" if refused else ""]
        raise Failed("; ".join(one for one in because if one))

    async def quiet(self, seconds: float | None = None) -> None:
        """Listen for what must not come."""
        await self.ledger.until(lambda: False, seconds or self.options.quiet)

    async def asking(self) -> None:
        """The service asks for work; after a start, it is ready."""
        before, within = len(self.ledger.asked), self.options.start_within
        await self.wait(
            lambda: len(self.ledger.asked) > before, within, f"it did not ask for work within {within:g} s"
        )

    # What ends a process.

    async def crash(self) -> None:
        """SIGKILL, and a new process that asks for work."""
        await self.subject.kill()
        self.ledger.void()
        await self.back()

    async def back(self) -> None:
        """A new process, ready."""
        self.ledger.void()
        await self.subject.start()
        await self.asking()

    def _directive(self, attempt: Attempt, payload: dict[str, Any], source: str) -> dict[str, Any]:
        out = self.home / "out" / attempt.job_id
        callbacks = f"{self.ledger.reached_as or self.url}/v1/callbacks"
        return {
            "type": "DIRECTIVE",
            **attempt.ids,
            "protocol_id": f"{self.step_type}@1",
            "step_type": self.step_type,
            "schema_version": "1",
            "input_ref": {"uri": source},
            "inputs": {step: {"uri": uri} for step, uri in self.options.inputs.items()},
            "workspace_ref": {"uri": attempt.workspace.as_uri() + "/"},
            "output_ref": {"uri": out.as_uri() + "/"},
            "payload": payload,
            "mode": "DEFAULT",
            "lane": 0,
            "routing_key_used": attempt.ids["tenant_id"],
            "correlation_id": f"kit-{attempt.job_id}",
            "traceparent": None,
            "lease_expires_at": iso(self.ledger.clock() + int(attempt.lease * 1000)),
            "callback_urls": {name: f"{callbacks}/{name}" for name in _ANSWERS},
            "callback_token": attempt.token,
        }

    def _small_document(self) -> str:
        path = self.home / "document.txt"
        path.write_text("A small document.\nIt has two lines and ten words in all.\n", encoding="utf-8")
        return path.as_uri()
