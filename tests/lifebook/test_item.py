"""A run and its item."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from boto3.dynamodb.types import TypeDeserializer, TypeSerializer
from hypothesis import given
from hypothesis import strategies as st

from lucius.errors import Broken
from lucius.lifebook.core.run import Lock, Run, StepPlan
from lucius.lifebook.core.states import Status, TriggerType
from lucius.lifebook.item import item_of, run_of

FLOOR: dict[str, Any] = {
    "job_id": "7d1c2f0e-6c0a-4f5e-9a44-0d3f6e1b2c3d",
    "workspace_id": "w-1",
    "user_id": "u-1",
    "workflow_id": "nightly",
    "trigger_type": "manual",
    "status": "queued",
    "attempts": Decimal(1),
    "max_attempts": Decimal(5),
    "step_cursor": Decimal(1),
    "steps_total": Decimal(3),
    "credits_estimate": Decimal(10),
    "credits_reserved": Decimal(10),
    "credits_spent": Decimal("3.33"),
    "idempotency_key": "k-1",
    "created_at": "2026-01-27T10:02:00Z",
    "updated_at": "2026-01-27T10:02:01.500Z",
}
ENDED = {"started_at", "completed_at", "last_error_code", "last_error_message", "ttl_at"}

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
times = st.integers(0, 4_000_000_000_000)
credit = st.integers(0, 10**12)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
runs = st.builds(
    Run,
    job_id=st.uuids(version=4).map(str),
    workspace_id=texts,
    user_id=texts,
    workflow_id=texts,
    trigger_type=st.sampled_from(TriggerType),
    status=st.sampled_from(Status),
    attempts=st.integers(0, 5),
    max_attempts=st.integers(1, 5),
    step_cursor=st.integers(0, 9),
    credits_estimate=credit,
    credits_reserved=credit,
    credits_spent=credit,
    idempotency_key=texts,
    last_error_code=st.none() | texts,
    last_error_message=st.none() | texts,
    created_at=times,
    updated_at=times,
    started_at=st.none() | times,
    completed_at=st.none() | times,
    ttl_at=st.none() | times,
    version=st.integers(1, 1000),
    steps=st.lists(st.builds(StepPlan, name=texts, credits=credit), max_size=4).map(tuple),
    input=st.dictionaries(texts, values, max_size=4),
    artifacts=st.dictionaries(texts, texts, max_size=3),
    lock=st.none() | st.builds(Lock, owner=texts, token=texts, expires_at=times),
    next_attempt_at=st.none() | times,
    continued=st.booleans(),
    crashes=st.integers(0, 3),
    sends=st.integers(1, 9),
    due_at=st.none() | times,
    trace_id=texts,
    fingerprint=texts,
    unique_id=texts,
    retry_of=st.none() | texts,
)


@given(runs)
def test_a_run_survives_the_way_through_dynamodbs_types(run: Run) -> None:
    """What is read is exactly what was written, also after DynamoDB made every number a decimal."""
    item = item_of(run)
    stored = {name: TypeSerializer().serialize(value) for name, value in item.items()}
    read = {name: TypeDeserializer().deserialize(value) for name, value in stored.items()}
    assert run_of(item) == run_of(read) == run


@given(runs)
def test_the_item_has_the_contracts_names_and_no_nulls(run: Run) -> None:
    """Every field of the contract is there by its name, unless it has no value yet."""
    item = item_of(run)
    assert (FLOOR.keys() | ENDED) - item.keys() == {name for name in ENDED if getattr(run, name) is None}
    assert None not in item.values()
    assert item["steps_total"] == len(run.steps)
    assert item["credits_estimate"] * 100 == run.credits_estimate
    assert item["created_at"].endswith("Z")
    assert len(item["created_at"]) == len("2026-01-27T10:02:00.000Z")


def test_an_item_of_the_contracts_floor_is_a_run() -> None:
    """Whoever knows the contract only can write items that we go on with."""
    run = run_of(FLOOR)
    assert [step.name for step in run.steps] == ["step-1", "step-2", "step-3"]
    assert sum(step.credits for step in run.steps) == run.credits_estimate == 1000
    assert (run.version, run.sends, run.lock, run.input) == (0, 1, None, {})
    assert run.due_at == run.updated_at
    assert run.unique_id.startswith("idem#w-1#")


def test_a_finished_item_of_the_contracts_floor_is_never_due() -> None:
    """Nobody looks for the message of a run that has ended."""
    assert run_of(FLOOR | {"status": "completed"}).due_at is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"status": "lost"},
        {"created_at": "yesterday"},
        {"credits_estimate": Decimal("0.001")},
        {"steps_total": "x"},
    ],
)
def test_an_item_that_is_no_run_is_refused(wrong: dict[str, Any]) -> None:
    """Nobody works on a record that cannot be understood."""
    with pytest.raises(Broken, match=FLOOR["job_id"]):
        run_of(FLOOR | wrong)
