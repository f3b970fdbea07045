"""Replays of accepted commands are answered, whatever has been configured since."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from lucius.ports.ledger import JobQuery
from lucius.security.principal import Role
from lucius.testing.hostile import valid
from tests.api.world import World, problem, world

MAIN = "lucius.yaml"
RECIPE = "protocols/invoice.yaml"
INVOICE = """
request_type: INVOICE
version: 1
aliases: [BILL]
steps:
  - step_id: ocr
    step_type: OCR
    service: ocr-service
"""
STRICT = "    payload_schema: {type: object, required: [pages]}\n"

Edit = Callable[[Path], Any]
#: What changes, and the refusal new commands get from then on.
CHANGES: dict[str, tuple[Edit, int, str]] = {
    "tenant disabled": (
        lambda root: (root / "tenants.yaml").write_text("tenants: {acme: {enabled: false}}\n"),
        403,
        "TENANT_DISABLED",
    ),
    "protocol removed": (lambda root: (root / RECIPE).unlink(), 422, "UNKNOWN_REQUEST_TYPE"),
    "refs narrowed": (
        lambda root: (root / MAIN).write_text("burst_allowed: true\nrefs: {schemes: [gs]}\n"),
        422,
        "REF_SCHEME_NOT_ALLOWED",
    ),
    "payload schema narrowed": (
        lambda root: (root / RECIPE).write_text(INVOICE.replace("version: 1", "version: 2") + STRICT),
        422,
        "SCHEMA_REQUIRED",
    ),
    "BURST forbidden": (
        lambda root: (root / MAIN).write_text("burst_allowed: false\n"),
        403,
        "BURST_NOT_ALLOWED",
    ),
}
KEYS = pytest.mark.parametrize("key", [{"idempotency_key": "k"}, {}], ids=["explicit", "derived"])
CHANGE = pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)


@pytest.fixture
async def api(tmp_path: Path) -> AsyncIterator[World]:
    """A Lucius over a directory that allows everything the commands here ask for."""
    (tmp_path / "protocols").mkdir()
    (tmp_path / MAIN).write_text("burst_allowed: true\n")
    (tmp_path / RECIPE).write_text(INVOICE)
    async with world(tmp_path) as found:
        yield found


def command(**changes: Any) -> dict[str, Any]:
    """A command that every one of the changes would refuse."""
    return valid(request_type="INVOICE", mode="BURST", doc_id="d-1") | changes


async def reload(api: World, root: Path, edit: Edit) -> None:
    """Change the directory and have it read, unless the watcher was quicker."""
    edit(root)
    answer = await api.post("/v1/admin/reload")
    assert answer.json()["outcome"] in {"reloaded", "unchanged"}, answer.text


def is_replay(answer: httpx2.Response, job_id: str) -> None:
    """The answer names the old job."""
    assert answer.status_code == 202, answer.text
    assert (answer.json()["jobId"], answer.json()["duplicate"]) == (job_id, True)


@KEYS
@CHANGE
async def test_a_replay_is_answered_and_a_new_command_is_not(
    api: World, tmp_path: Path, change: tuple[Edit, int, str], key: dict[str, str]
) -> None:
    """After a change that refuses a command, its replay finds its job; what is new leaves no trace."""
    edit, status, code = change
    job_id = await api.submit(**command(**key))
    await reload(api, tmp_path, edit)
    is_replay(await api.post("/v1/orchestrate", command(**key)), job_id)
    new = command(output_ref={"uri": "s3://results/acme/new/"}, **({"idempotency_key": "new"} if key else {}))
    for _ in range(2):
        problem(await api.post("/v1/orchestrate", new), status, code)
    assert len(await api.lucius.ledger.jobs(JobQuery())) == 1


@CHANGE
async def test_an_old_key_with_another_body_gets_the_refusal(
    api: World, tmp_path: Path, change: tuple[Edit, int, str]
) -> None:
    """A key does not carry another body past what is configured."""
    edit, status, code = change
    await api.submit(**command(idempotency_key="k"))
    await reload(api, tmp_path, edit)
    other = command(idempotency_key="k", output_ref={"uri": "s3://results/acme/other/"})
    problem(await api.post("/v1/orchestrate", other), status, code)


async def test_another_request_type_is_another_body(api: World) -> None:
    """A key of one protocol does not answer for a name that nobody knows."""
    await api.submit(**command(idempotency_key="k"))
    other = command(idempotency_key="k", request_type="NOBODY")
    problem(await api.post("/v1/orchestrate", other), 422, "UNKNOWN_REQUEST_TYPE")


async def test_other_spellings_of_a_request_type_are_replays_too(api: World, tmp_path: Path) -> None:
    """An alias that went with its protocol is still what the job with the key was asked for by."""
    job_id = await api.submit(**command(idempotency_key="k", request_type="bill"))
    await reload(api, tmp_path, CHANGES["tenant disabled"][0])
    is_replay(await api.post("/v1/orchestrate", command(idempotency_key="k", request_type="BILL")), job_id)
    await reload(api, tmp_path, CHANGES["protocol removed"][0])
    for spelling in ("bill", "invoice"):
        again = command(idempotency_key="k", request_type=spelling)
        is_replay(await api.post("/v1/orchestrate", again), job_id)


async def test_a_batch_replays_like_single_commands(api: World, tmp_path: Path) -> None:
    """Each item is judged alone: the old one is answered, the new one refused."""
    job_id = await api.submit(**command())
    await reload(api, tmp_path, CHANGES["tenant disabled"][0])
    new = command(output_ref={"uri": "s3://results/acme/new/"})
    told = (await api.post("/v1/orchestrate:batch", {"items": [command(), new]})).json()
    assert [one["status"] for one in told["results"]] == [202, 403]
    assert told["results"][0]["job"]["jobId"] == job_id


async def test_a_plan_says_what_a_new_command_would_be_told(api: World, tmp_path: Path) -> None:
    """The dry run judges by what is configured now and looks for no job."""
    await api.submit(**command())
    await reload(api, tmp_path, CHANGES["tenant disabled"][0])
    problem(await api.post("/v1/orchestrate:plan", command()), 403, "TENANT_DISABLED")


async def test_a_replay_needs_a_credential_for_its_tenant(api: World, tmp_path: Path) -> None:
    """Nobody learns of a job by replaying the command of a tenant that is not theirs."""
    await api.submit(**command(idempotency_key="k"))
    await reload(api, tmp_path, CHANGES["tenant disabled"][0])
    stranger = api.key(Role.SUBMIT, tenants={"globex"})
    answer = await api.post("/v1/orchestrate", command(idempotency_key="k"), stranger)
    problem(answer, 403, "TENANT_FORBIDDEN")
