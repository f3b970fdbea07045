"""The OpenAPI document against the running API: no 5xx, no answer that it does not describe.

The document is sharpened before cases are drawn from it: ids, request types and tokens that exist are
put in, so that a good share of the cases gets past the first check. What is served stays untouched.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

import httpx2
import pytest
import requests
import schemathesis
from hypothesis import given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from standardwebhooks import Webhook

from lucius.testing.hostile import valid
from tests.api.server import served
from tests.api.world import NO_SUCH, reply_to

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
IN_CI = 75
IN_PROOF = int(os.environ.get("LUCIUS_EXAMPLES", "1500"))
URI = {"uri": {"type": "string", "pattern": "^s3://[a-z]{3,8}/[a-z0-9]{1,8}$"}}
WORKFLOW = "example-four-steps"
TYPES = ["OCR", "SIS", "EMBEDDING", "OCR_EMBEDDING", "OCR -> EMBEDDING", "NOPE"]


class Target(NamedTuple):
    """A running Lucius, the document of what it serves, and a connection to it."""

    url: str
    document: dict[str, Any]
    session: requests.Session


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    """A Lucius with a few jobs in different states."""
    with served() as url, httpx2.Client(base_url=url) as client, requests.Session() as session:
        ids = [
            client.post("/v1/orchestrate", json=valid(idempotency_key=f"k{number}")).json()["jobId"]
            for number in range(8)
        ]
        asked = {"step_types": ["OCR"], "max": 3, "wait_seconds": 10}
        lent = client.post("/v1/directives:receive", json=asked).json()["directives"]
        failed = reply_to(lent[0]["directive"], status="FAILED_FINAL")
        token = {"x-callback-token": lent[0]["directive"]["callback_token"]}
        assert client.post("/v1/callbacks/result", json=failed, headers=token).status_code == 200
        document = client.get("/openapi.json").json()
        sharpen(document, [*ids, NO_SUCH], lent[1])
        sharpen_runs(document, lifebook(client))
        yield Target(url, document, session)


def sharpen(document: dict[str, Any], ids: list[str], lent: dict[str, Any]) -> None:
    """Put what exists into the document."""
    schemas = document["components"]["schemas"]
    envelope = schemas["Envelope"]["properties"]
    envelope["request_type"] = {"enum": TYPES}
    envelope["tenant_id"] = {"enum": ["acme", "globex", "Tenant_A"]}
    envelope["input_ref"] = envelope["output_ref"] = {
        "type": "object",
        "required": ["uri"],
        "properties": URI,
    }
    envelope["payload"] = {"type": "object", "maxProperties": 1}
    schemas["CommandBatch"]["properties"]["items"]["items"] = {"$ref": "#/components/schemas/Envelope"}
    schemas["CommandBatch"]["properties"]["items"]["maxItems"] = 3
    schemas["ReceiveRequest"]["properties"]["wait_seconds"]["maximum"] = 0.01
    schemas["ReceiveRequest"]["properties"]["step_types"]["items"] = {"enum": ["OCR", "SIS", "NOPE"]}
    schemas["SettlementItem"]["properties"]["lock_token"] = {"enum": [lent["lock_token"], "lost"]}
    directive = lent["directive"]
    known = reply_to(directive) | {"callback_token": directive["callback_token"]}
    for name in ("AckBody", "HeartbeatBody", "ResultBody"):
        schemas[name]["properties"] |= {field: {"enum": [value]} for field, value in known.items()}
        schemas[name]["required"] = sorted({*schemas[name]["required"], "callback_token"})
    for path, item in document["paths"].items():
        known_ids = ids[4:] if path.endswith(":cancel") else ids  # some jobs must stay open
        for operation in item.values():
            for parameter in operation.get("parameters", []):
                if parameter["name"] == "jobId":
                    parameter["schema"] = {"enum": [*known_ids, "not an id"]}
                elif parameter["name"] == "X-Callback-Token":
                    parameter["schema"] = {"enum": [directive["callback_token"], "lct1.a.1.b"]}


class Lifebook(NamedTuple):
    """What exists of lifebook runs: some open, one that has ended, triggers to use and others to remove."""

    jobs: list[str]
    ended: str
    schedules: list[str]
    hooks: list[dict[str, Any]]


def lifebook(client: httpx2.Client) -> Lifebook:
    """Make it."""
    here = "/v1/lifebook/workspaces/acme"
    wanted = {"workspace_id": "acme", "user_id": "ada", "workflow_id": WORKFLOW}
    jobs = [client.post("/v1/lifebook/jobs", json=wanted).json()["job_id"] for _ in range(4)]
    assert client.post(f"/v1/lifebook/jobs/{jobs[0]}:cancel").status_code == 200
    daily = {"workflow_id": WORKFLOW, "cron": "0 6 * * *"}
    schedules = [client.post(f"{here}/schedules", json=daily).json()["schedule_id"] for _ in range(2)]
    hooks = [client.post(f"{here}/hooks", json={"workflow_id": WORKFLOW}).json() for _ in range(2)]
    return Lifebook(jobs[1:], jobs[0], schedules, hooks)


def sharpen_runs(document: dict[str, Any], known: Lifebook) -> None:
    """Put the runs that exist into the document."""
    schemas = document["components"]["schemas"]
    schemas["LifebookCreate"]["properties"] |= {
        "workspace_id": {"enum": ["acme", "globex", "Tenant_A"]},
        "input": {"type": "object", "maxProperties": 1},
    }
    for name in ("LifebookCreate", "LifebookScheduleRequest", "LifebookHookRequest"):
        schemas[name]["properties"]["workflow_id"] = {"enum": [WORKFLOW, WORKFLOW, "nope"]}
    schemas["LifebookScheduleRequest"]["properties"]["cron"] = {"enum": ["0 6 * * *", "1 1 1 1 1", "nope"]}
    schemas["LifebookDeposit"]["properties"]["credits"] = {"enum": [1, 2.5, 100, 0.001]}
    used, spare = known.hooks
    for path, item in document["paths"].items():
        for method, operation in item.items():
            last = method == "delete"
            ids = {
                "job_id": [known.ended, *known.jobs, NO_SUCH, "not an id"],
                "letter_id": [known.ended, NO_SUCH, "not an id"],
                "workspace_id": ["acme", "globex", "no such"],
                "schedule_id": [known.schedules[last], NO_SUCH],
                "hook_id": [spare["hook_id"], NO_SUCH] if last else [used["hook_id"]],
            }
            for parameter in operation.get("parameters", []):
                if parameter["name"] in ids:
                    parameter["schema"] = {"enum": ids[parameter["name"]]}
            if path.endswith("/hooks/{hook_id}") and not last:
                sign(operation, used["secret"])


def sign(operation: dict[str, Any], secret: str) -> None:
    """Let the call of a hook be signed: its good cases have one body, `{}`."""
    at = datetime.now(UTC)
    known = {
        "webhook-id": "msg-1",
        "webhook-timestamp": str(int(at.timestamp())),
        "webhook-signature": Webhook(secret).sign("msg-1", at, "{}"),
    }
    for parameter in operation["parameters"]:
        if parameter["name"] in known:
            parameter |= {"required": True, "schema": {"enum": [known[parameter["name"]]]}}
    operation["requestBody"]["content"]["application/json"]["schema"] = {"enum": [{}]}


def run(target: Target, examples: int) -> Counter[tuple[str, int]]:
    """Draw cases for every operation, good and bad ones, and check every answer; what was seen."""
    seen: Counter[tuple[str, int]] = Counter()
    schema = schemathesis.openapi.from_dict(target.document)
    for result in schema.get_all_operations():
        assert isinstance(result, Ok)
        operation = result.ok()
        for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
            strategy = operation.as_strategy(generation_mode=mode)

            @seed(17)
            @settings(max_examples=examples)
            @given(case=strategy)
            def check(case: Any) -> None:
                answer = case.call_and_validate(
                    base_url=target.url, checks=CHECKS, session=target.session, timeout=30
                )
                seen[case.operation.label, answer.status_code] += 1

            with suppress(Unsatisfiable):  # an operation without parameters cannot be asked wrongly
                check()
    return seen


def test_every_answer_is_described(target: Target) -> None:
    """Thousands of drawn requests get no 5xx and no status, type, header or shape that is not documented."""
    seen = run(target, IN_CI)
    assert sum(seen.values()) > 5_000
    reached = {label for label, status in seen if status < 300}
    described = {
        f"{method.upper()} {path}" for path, item in target.document["paths"].items() for method in item
    }
    assert described - reached == set()


@pytest.mark.proof
def test_every_answer_is_described_at_length(target: Target) -> None:
    """The same with many more requests."""
    assert sum(run(target, IN_PROOF).values()) > 50_000
