"""From a request for a run to the answer with it: its key, its workflow, its trace.

201 for a run that was made now, 200 for the one that was there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from fastapi import Response

from lucius.core.pointer import Findings
from lucius.entrypoints.api.asking import reply
from lucius.entrypoints.api.door import Call
from lucius.entrypoints.api.lifebook.shapes import LifebookRun
from lucius.entrypoints.api.lifebook.showing import run_view
from lucius.entrypoints.api.openapi import answers
from lucius.entrypoints.api.services import Services
from lucius.errors import Invalid, NotFound, Problem, Refused
from lucius.lifebook.desk import LifebookDesk
from lucius.lifebook.ports.store import Created
from lucius.wire.fields import read_idempotency_key

BODY_ERRORS = (400, 413, 415)


def made(api: Services, created: Created) -> Response:
    """The answer with a run that was made now, or before."""
    run = run_view(created.run, api.clock())
    if not created.fresh:
        return reply(run)
    return reply(run, 201, location=f"/v1/lifebook/jobs/{created.run.job_id}")


def making(*errors: int) -> dict[int | str, dict[str, Any]]:
    """What an operation that makes a run may answer."""
    found = answers({200: LifebookRun, 201: LifebookRun}, *BODY_ERRORS, 402, *errors)
    found[200]["description"] = "The run was there already."
    found[201]["description"] = "The run was made now."
    found[201]["headers"] = {"Location": {"schema": {"type": "string"}, "description": "The run"}}
    return found


def known(desk: LifebookDesk, workflow_id: str) -> str:
    """The workflow, if it is registered; otherwise the request is wrong."""
    try:
        return desk.registry.get(workflow_id).workflow_id
    except NotFound as error:
        problem = Problem(pointer="/workflow_id", code=error.code, message="not registered here")
        raise Invalid(error.message, code=error.code, problems=(problem,)) from error


@contextmanager
def still_registered() -> Iterator[None]:
    """A run whose workflow is gone is there, but cannot run again."""
    try:
        yield
    except NotFound as error:
        if error.code != "UNKNOWN_WORKFLOW":
            raise
        raise Refused(error.message, code=error.code) from error


def key_of(call: Call, given: str | None) -> str | None:
    """The idempotency key of a request: from its header, its body, or both if they agree."""
    header = call.header(b"idempotency-key")
    if header is None:
        return given
    findings = Findings()
    read_idempotency_key(header, findings, "/header/Idempotency-Key")
    if given not in (None, header):
        message = (
            "The Idempotency-Key header and idempotency_key differ; send one of them, or the same twice."
        )
        findings.note("/idempotency_key", "IDEMPOTENCY_KEY_MISMATCH", message)
    if findings:
        first = findings.problems[-1]
        raise Invalid(first.message, code=first.code, problems=tuple(findings.problems))
    return header


def trace_of(call: Call) -> str | None:
    """The trace the request belongs to, if it says so."""
    traceparent = call.traceparent()
    return None if traceparent is None else traceparent.split("-")[1]
