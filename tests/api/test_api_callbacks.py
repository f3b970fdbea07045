"""Replies of services over HTTP: verdicts, tokens, batches."""

from __future__ import annotations

import pytest

from lucius.core.decide import Verdict
from lucius.ports.ledger import JobQuery
from lucius.security.callback_tokens import Binding
from lucius.testing.forgeries import flipped, forged_callbacks
from tests.api.world import World, problem, reply_to


async def test_ack_heartbeat_and_result_carry_a_job_to_its_end(api: World) -> None:
    """Each reply is accepted, told the lease, and moves the job on."""
    job_id = await api.submit()
    (lent,) = await api.take("OCR")
    directive = lent["directive"]
    assert directive["jobId"] == job_id
    acked = (await api.say("ack", directive)).json()
    assert (acked["verdict"], acked["state"], acked["step_state"]) == (
        "accepted",
        "IN_PROGRESS",
        "IN_PROGRESS",
    )
    assert acked["lease_expires_at"].endswith("Z")
    assert acked["cancel_requested"] is False
    beat = (await api.say("heartbeat", directive, progress=0.5, message="page 2 of 4")).json()
    assert beat["verdict"] == "accepted"
    assert (await api.get(f"/v1/jobs/{job_id}")).json()["progress"] == 0.5
    done = (await api.say("result", directive, status="SUCCEEDED", output_ref={"uri": "s3://r/1"})).json()
    assert (done["verdict"], done["state"]) == ("accepted", "SUCCEEDED")
    assert (done["jobId"], done["stepId"]) == (job_id, "ocr")
    job = (await api.get(f"/v1/jobs/{job_id}")).json()
    assert (job["state"], job["final_output"], job["progress"]) == ("SUCCEEDED", {"uri": "s3://r/1"}, 1.0)


async def test_every_verdict_is_answered_200(api: World) -> None:
    """Duplicate, conflicting, stale and late replies are judged and told so, never refused."""
    await api.submit()
    (lent,) = await api.take("OCR")
    directive = lent["directive"]
    say = api.say
    assert (await say("ack", directive)).json()["verdict"] == Verdict.ACCEPTED
    assert (await say("ack", directive)).json()["verdict"] == Verdict.DUPLICATE
    assert (await say("result", directive, status="SUCCEEDED")).json()["verdict"] == Verdict.ACCEPTED
    assert (await say("result", directive, status="SUCCEEDED")).json()["verdict"] == Verdict.DUPLICATE
    assert (await say("result", directive, status="FAILED_FINAL")).json()["verdict"] == Verdict.CONFLICT
    await api.submit(idempotency_key="next")
    (other,) = await api.take("OCR")
    cancelled = await api.post(f"/v1/jobs/{other['directive']['jobId']}:cancel?force=true")
    assert cancelled.json()["state"] == "CANCELLED"
    late = await say("result", other["directive"], status="SUCCEEDED")
    assert (late.status_code, late.json()["verdict"]) == (200, Verdict.AFTER_TERMINAL)


async def test_a_service_learns_that_its_job_is_to_be_cancelled(api: World) -> None:
    """A heartbeat for a job that is being cancelled says so."""
    job_id = await api.submit()
    (lent,) = await api.take("OCR")
    await api.say("ack", lent["directive"])
    cancel = await api.post(f"/v1/jobs/{job_id}:cancel", {"reason": "wrong file"})
    assert (cancel.status_code, cancel.json()["state"], cancel.json()["status"]) == (
        202,
        "CANCELLING",
        "CANCELLED",
    )
    assert (await api.say("heartbeat", lent["directive"])).json()["cancel_requested"] is True


@pytest.mark.parametrize("carrier", ["bearer", "header", "body"])
async def test_the_token_may_come_in_three_ways(api: World, carrier: str) -> None:
    """Authorization, X-Callback-Token and the field callback_token are equally good."""
    await api.submit()
    (lent,) = await api.take("OCR")
    directive, token = lent["directive"], lent["directive"]["callback_token"]
    headers = {
        "bearer": {"authorization": f"Bearer {token}"},
        "header": {"x-callback-token": token},
        "body": {},
    }[carrier]
    more = {"callback_token": token} if carrier == "body" else {}
    answer = await api.post("/v1/callbacks/ack", reply_to(directive, **more), headers)
    assert (answer.status_code, answer.json()["verdict"]) == (200, "accepted")


async def test_the_type_must_agree_with_the_route(api: World) -> None:
    """A type that is absent is implied, one that differs is refused, one that agrees is fine."""
    await api.submit()
    (lent,) = await api.take("OCR")
    directive = lent["directive"]
    wrong = await api.say("ack", directive, type="RESULT", status="SUCCEEDED")
    found = problem(wrong, 422, "WRONG_TYPE_OF_REPLY")
    assert found["errors"][0]["pointer"] == "/type"
    problem(await api.say("ack", directive, type=None), 422, "WRONG_TYPE_OF_REPLY")
    assert (await api.say("ack", directive, type="ACK")).json()["verdict"] == "accepted"


async def test_no_token_is_401_with_a_challenge(api: World) -> None:
    """A reply without a token is told how to send one."""
    await api.submit()
    (lent,) = await api.take("OCR")
    answer = await api.post("/v1/callbacks/ack", reply_to(lent["directive"]))
    problem(answer, 401, "UNAUTHENTICATED")
    assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_forged_tokens_change_nothing(api: World) -> None:
    """Every forgery is 401 before anything is looked up, and leaves no trace in the job."""
    job_id = await api.submit()
    (lent,) = await api.take("OCR")
    directive = lent["directive"]
    binding = Binding(
        tenant_id=directive["tenant_id"],
        job_id=directive["jobId"],
        step_id=directive["stepId"],
        attempt_no=directive["attempt_no"],
        lease_id=directive["lease_id"],
    )
    token = directive["callback_token"]
    await api.sent(job_id)
    before = (await api.get(f"/v1/jobs/{job_id}")).json()
    [keys] = [duty._keys for duty in api.lucius.duties if hasattr(duty, "_keys")]
    expires = int(token.split(".")[2])
    forged = forged_callbacks(binding, keys.find(token.split(".")[1]), expires, token)
    for name, text in forged.items():
        body = reply_to(directive, callback_token=text)
        if name == "lone surrogate":
            continue
        answer = await api.post("/v1/callbacks/ack", body)
        assert answer.status_code == 401, (name, answer.text)
    for name, other in flipped(binding).items():
        body = reply_to(directive) | {
            "tenant_id": other.tenant_id,
            "jobId": other.job_id,
            "stepId": other.step_id,
            "attempt_no": other.attempt_no,
            "lease_id": other.lease_id,
        }
        answer = await api.post(
            "/v1/callbacks/result", body | {"status": "SUCCEEDED", "callback_token": token}
        )
        assert answer.status_code == 401, (name, answer.text)
    assert (await api.get(f"/v1/jobs/{job_id}")).json() == before


async def test_a_token_of_one_attempt_is_no_token_of_another(api: World) -> None:
    """What one directive brought does not speak for the next."""
    await api.submit(idempotency_key="1")
    await api.submit(idempotency_key="2")
    first, second = await api.take("OCR", max=2)
    answer = await api.say("ack", first["directive"], token=second["directive"]["callback_token"])
    problem(answer, 401, "UNAUTHENTICATED")


async def test_a_batch_of_replies_is_judged_in_order_and_one_by_one(api: World) -> None:
    """ACK and RESULT of one attempt may come together; a bad reply takes no other with it."""
    await api.submit()
    (lent,) = await api.take("OCR")
    directive, token = lent["directive"], lent["directive"]["callback_token"]
    replies = [
        reply_to(directive, type="ACK", callback_token=token),
        reply_to(directive, type="RESULT", status="SUCCEEDED", callback_token=token),
        reply_to(directive, type="ACK", callback_token="lct1.x.1.y"),
        reply_to(directive, type="DIRECTIVE", callback_token=token),
        reply_to(directive, type=["ACK"], callback_token=token),
        "no object",
    ]
    answer = await api.post("/v1/callbacks/batch", {"replies": replies})
    assert answer.status_code == 200
    results = answer.json()["results"]
    assert [item["status"] for item in results] == [200, 200, 401, 422, 422, 422]
    assert [item["answer"]["verdict"] for item in results[:2]] == ["accepted", "accepted"]
    assert results[1]["answer"]["state"] == "SUCCEEDED"
    many = {"replies": replies[:1] * 501}
    problem(await api.post("/v1/callbacks/batch", many), 422, "INVALID_REQUEST")


async def test_a_result_in_the_older_form_is_understood(api: World) -> None:
    """FAILED with a failure class is a failure that may be tried again, or not."""
    job_id = await api.submit()
    (lent,) = await api.take("OCR")
    old = await api.say("result", lent["directive"], status="FAILED", failure_class="NON_RETRYABLE")
    assert old.json()["state"] == "FAILED_FINAL"
    (stored,) = await api.lucius.ledger.jobs(JobQuery())
    assert stored.job_id == job_id
    problem(await api.say("result", lent["directive"], status="DONE"), 422, "INVALID_MESSAGE")
