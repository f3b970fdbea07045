from __future__ import annotations

import json
from typing import Any

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lucius.core import commands as cmd
from lucius.core.admission import Limits
from lucius.core.decide import Verdict
from lucius.core.job import Fault, StepResult, standing
from lucius.ports.engine import Answer
from lucius.ports.invoker import Advance, Advanced, Attempted
from lucius.testing.jobs import START, Story, job_id, lost, order
from lucius.wire.timestamps import iso
from tests.invoker.world import ATTEMPT, BODIES, DIRECTIVE, JOB_ID, NAMED, STORY, World

_SAME_SERVER = settings(
    max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
versions = st.integers(0, 2**53 - 1)
numbers = st.integers(1, 10**6)
spreads = st.floats(0, 1, exclude_max=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
refs = st.builds(lambda more: {**more, "uri": "s3://out/x"}, st.dictionaries(texts, values, max_size=3))
faults = st.builds(Fault, code=texts, message=texts)
results = st.builds(
    StepResult,
    status=st.sampled_from(["SUCCEEDED", "FAILED_RETRY", "FAILED_FINAL"]),
    output_ref=st.none() | refs,
    artifacts=st.lists(refs, max_size=3).map(tuple),
    error=st.none() | faults,
)
about: dict[str, Any] = {"step_id": texts, "attempt_no": numbers, "lease_id": texts}
replies = st.one_of(
    st.builds(cmd.Ack, **about),
    st.builds(cmd.Heartbeat, progress=st.none() | st.floats(0, 1), message=st.none() | texts, **about),
    st.builds(cmd.Result, result=results, **about),
)
controls = st.one_of(
    st.builds(cmd.Cancel, force=st.booleans(), reason=st.none() | texts),
    st.builds(cmd.GiveUp, reason=texts),
    st.just(cmd.Pause()),
    st.just(cmd.Resume()),
)
slots = st.none() | st.integers(0, 10**6)
limits = st.builds(
    Limits, tenant_jobs=slots, system_jobs=slots, tenant_burst_jobs=slots, retry_after=st.integers(0, 3600)
)
jobs = st.sampled_from(
    [
        None,
        Story().job,
        Story(order(payload={"deep": [1, 2.5, {"ü": None}]}, priority=3)).published().acked().job,
        Story().published().acked().result(lost()).job,
        Story().published().acked().then(cmd.Cancel(reason="late")).job,
        Story().published().then(cmd.Pause()).job,
        Story().finished().job,
    ]
)
answers = st.builds(Answer, verdict=st.sampled_from(list(Verdict)), job=jobs, refusal=st.none() | faults)
advances = st.builds(
    Advance, job_id=texts, tenant_id=texts, known=versions, lease_id=texts | st.just(""), spread=spreads
)
attempts = st.builds(Attempted, job_id=texts, tenant_id=texts, **about)


@_SAME_SERVER
@given(asked=advances, minted=attempts, job=jobs, now=versions)
async def test_steps_round_trip(world, asked, minted, job, now) -> None:
    """What the worker asks arrives as it was asked, and the job comes back as the ledger has it."""
    world.recorder.calls.clear()
    world.recorder.advanced = Advanced(standing=standing(job) if job is not None else None, now=now)
    async with world.client() as invoker:
        assert await invoker.advance(asked) == world.recorder.advanced
        assert await invoker.attempt(minted) == world.recorder.advanced
    assert world.recorder.calls == [("advance", asked), ("attempt", minted)]


@_SAME_SERVER
@given(reply=replies, answer=answers, tenant=texts, job=texts)
async def test_replies_round_trip(world, reply, answer, tenant, job) -> None:
    """What services say arrives word for word, and the verdict comes back with the whole job."""
    world.recorder.calls.clear()
    world.recorder.answer = answer
    async with world.client() as invoker:
        assert await invoker.report(tenant, job, reply) == answer
    assert world.recorder.calls == [("report", tenant, job, reply)]


@_SAME_SERVER
@given(command=controls, held=limits, answer=answers)
async def test_control_round_trips(world, command, held, answer) -> None:
    """What people ask arrives with the limits to hold, and the refusal comes back with its reason."""
    world.recorder.calls.clear()
    world.recorder.answer = answer
    async with world.client() as invoker:
        assert await invoker.control(JOB_ID, command, held) == answer
    assert world.recorder.calls == [("control", JOB_ID, command, held)]


async def test_a_directive_travels_byte_for_byte(world: World) -> None:
    """What is published is what was handed over, down to its blanks and the form of its numbers."""
    spaced = json.dumps(json.loads(DIRECTIVE) | {"future": [1.50, 1e5, 1.0]}, indent=2).encode()
    async with world.client() as invoker:
        await invoker.publish(15, DIRECTIVE)
        await invoker.publish(0, spaced)
    assert world.recorder.calls == [("publish", 15, DIRECTIVE), ("publish", 0, spaced)]


async def test_any_number_of_jobs_can_be_sent_again(world: World) -> None:
    """More jobs than one body holds go in several; none is an answer too."""
    many = [job_id(number=number) for number in range(1, 1_202)]
    async with world.client() as invoker:
        assert await invoker.republish(many) == len(many)
        assert await invoker.republish([]) == 0
    parts = [call[1] for call in world.recorder.calls]
    assert [name for part in parts for name in part] == many
    assert parts[-1] == []


async def test_an_attempt_is_recorded_as_the_contract_says(world: World) -> None:
    """The published body of `steps/attempt` is taken field by field and answered with status ok."""
    body = {
        "jobId": JOB_ID,
        "stepId": "ocr",
        "tenant_id": "acme",
        "attempt_no": 2,
        "lease_id": "8b4a-2",
        "lease_expires_at": "2026-01-27T10:17:00Z",
    }
    answer = await world.post("/v1/internal/steps/attempt", body)
    assert answer.status_code == 200
    assert answer.json()["status"] == "ok"
    # The ledger's own clock has decided, and the answer says what holds.
    assert answer.json()["lease_expires_at"] == iso(STORY.attempt("ocr").lease_expires_at)
    assert world.recorder.calls == [
        (
            "attempt",
            Attempted(job_id=JOB_ID, tenant_id="acme", step_id="ocr", attempt_no=2, lease_id="8b4a-2"),
        )
    ]


async def test_a_directive_is_published_as_the_contract_says(world: World) -> None:
    """The published body of `publish` is a lane and a full directive, and nothing but ok comes back."""
    body = {"lane": 3, "directive": json.loads(DIRECTIVE)}
    answer = await world.post("/v1/internal/publish", body)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
    ((_, lane, sent),) = world.recorder.calls
    assert (lane, msgspec.json.decode(sent)) == (3, body["directive"])


async def test_a_whole_message_is_a_reply(world: World) -> None:
    """A reply may be handed over exactly as it stood on the bus, unknown fields included."""
    message = {"type": "HEARTBEAT", **NAMED, **ATTEMPT, "timestamp": iso(START), "progress": 0.5, "new": 1}
    answer = await world.post("/v1/internal/replies", {**NAMED, "reply": message})
    assert answer.json()["verdict"] == "accepted"
    expected = cmd.Heartbeat(step_id="ocr", attempt_no=1, lease_id="lease-1", progress=0.5)
    assert world.recorder.calls == [("report", "acme", JOB_ID, expected)]


async def test_the_sample_bodies_are_good(world: World) -> None:
    """Every body that other tests spoil is taken when it is whole."""
    for path, body in BODIES.items():
        answer = await world.post(path, body)
        assert answer.status_code == 200, answer.text
    assert len(world.recorder.calls) == len(BODIES)
