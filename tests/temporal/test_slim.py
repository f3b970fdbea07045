from __future__ import annotations

import msgspec
from msgspec.structs import replace

from lucius.core import commands as cmd
from lucius.core.job import Job, StepResult, standing
from lucius.engines.temporal.messages import Start
from lucius.engines.temporal.slim import slim_order, slim_standing
from lucius.testing.jobs import Story, order, protocol, recipe

SECRET = "private-42"
FILE = {"uri": f"s3://space/{SECRET}"}
RESULT = StepResult(status="SUCCEEDED", output_ref={"uri": "s3://space/shown"}, artifacts=(FILE,))


def _job() -> Story:
    """A job with private words wherever they can be, whose second step is worked on."""
    steps = protocol(recipe("first"), recipe("second"), recipe("third"))
    schema = {"properties": {SECRET: {"type": "string"}}}
    steps = replace(steps, steps=tuple(replace(one, payload_schema=schema) for one in steps.steps))
    asked = order(
        steps=replace(steps, description=SECRET), payload={"first": {"text": SECRET}}, input_ref=FILE,
        workspace_ref=FILE, callback_urls=(f"https://{SECRET}.example/hook",), idempotency_key=SECRET,
        extensions={"note": SECRET}, start_index=1, inherited=(RESULT,),
    )  # fmt: skip
    story = Story(asked).published().acked()
    attempt = story.job.steps[1].attempt
    assert attempt is not None
    beat = cmd.Heartbeat(
        step_id="second", attempt_no=attempt.attempt_no, lease_id=attempt.lease_id,
        progress=0.5, message=SECRET,
    )  # fmt: skip
    return story.then(beat)


def _told(job: Job) -> tuple[bytes, bytes]:
    """All there is of a job, and what its workflow gets to know."""
    start = Start(order=slim_order(job.order), standing=slim_standing(standing(job)))
    return msgspec.json.encode([job.order, standing(job)]), msgspec.json.encode(start)


def test_nothing_private_is_told_to_temporal() -> None:
    """A workflow's history has no payload, input, artifact, webhook address, key or word of progress."""
    story = _job()
    for job in (story.job, story.result(RESULT).job):
        whole, told = _told(job)
        assert whole.count(SECRET.encode()) > 10, "there is something to leave out"
        assert SECRET.encode() not in told
        assert b"s3://space/shown" in told, "where results lie is told"
