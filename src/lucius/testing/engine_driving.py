"""What an engine promises when everybody does their work: order, inputs, keys, limits, fairness."""

from __future__ import annotations

from lucius.core import commands as cmd
from lucius.core.admission import Limits
from lucius.core.decide import Verdict
from lucius.core.states import JobState, StepState
from lucius.errors import Saturated
from lucius.testing.engine_harness import EngineHarness
from lucius.testing.jobs import done, protocol, recipe


class EngineDriving:
    """The good days."""

    async def test_three_steps_over_the_bus(self, harness: EngineHarness) -> None:
        """Submit, directive, ACK, RESULT, next: each step is told where the ones before left their output."""
        job = await harness.opened()
        told = []
        for number in range(3):
            directive = await harness.take()
            told.append((directive.step_type, directive.attempt_no, directive.inputs))
            await harness.ack(directive)
            await harness.deliver(directive, f"s3://space/{number}")
        first, second = {"uri": "s3://space/0"}, {"uri": "s3://space/1"}
        assert told == [
            ("OCR", 1, {}), ("EMBEDDING", 1, {"ocr": first}), ("SIS", 1, {"ocr": first, "embedding": second}),
        ]  # fmt: skip
        await harness.rest()
        over = await harness.job(job)
        assert (over.state, over.final_output) == (JobState.SUCCEEDED, {"uri": "s3://space/2"})

    async def test_an_accepted_job_is_on_its_way(self, harness: EngineHarness) -> None:
        """Trap A3: the first attempt is part of the acceptance; nothing else has to happen."""
        job = await harness.opened()
        directive = await harness.take()
        assert (directive.job_id, directive.attempt_no) == (job.job_id, 1)
        assert (await harness.step(job)).state is StepState.AWAITING_ACK

    async def test_the_same_key_is_the_same_job(self, harness: EngineHarness) -> None:
        """A submission sent again finds its job and sends no second directive."""
        one, two = harness.order(), harness.order()
        first = await harness.open(one, key="doc")
        again = await harness.open(two, key="doc")
        assert (again.duplicate, again.job.job_id) == (True, first.job.job_id)
        assert await harness.waiting() == [first.job.job_id]

    async def test_limits_hold_and_leave_nothing(self, harness: EngineHarness) -> None:
        """Beyond its limit a tenant is refused without a trace; a replay of what was accepted never is."""
        limits = Limits(tenant_jobs=1)
        first = harness.order()
        await harness.open(first, limits, key="doc")
        refused = harness.order()
        try:
            await harness.open(refused, limits)
        except Saturated as error:
            assert error.code == "TENANT_SATURATED"
        else:
            raise AssertionError("the limit must hold")
        assert await harness.ledger.job(refused.job_id) is None
        assert (await harness.open(harness.order(), limits, key="doc")).duplicate
        assert (await harness.opened(limits, tenant="zeta")).state is JobState.QUEUED

    async def test_another_tenants_job_is_no_job(self, harness: EngineHarness) -> None:
        """S15: a reply in another tenant's name is unknown, like a reply for no job, and changes nothing."""
        job = await harness.opened()
        directive = await harness.take()
        before = await harness.job(job)
        reply = cmd.Ack(step_id="ocr", attempt_no=1, lease_id=directive.lease_id)
        for tenant, job_id in (("zeta", job.job_id), ("acme", "nobody")):
            answer = await harness.engine.report(tenant, job_id, reply)
            assert (answer.verdict, answer.job) == (Verdict.UNKNOWN, None)
        assert await harness.job(job) == before

    async def test_a_job_keeps_the_recipe_it_began_with(self, harness: EngineHarness) -> None:
        """Trap C8: a protocol that changes later never touches a running job."""
        job = await harness.opened(steps=protocol("ocr", "sis"))
        await harness.opened(steps=protocol("ocr", "other"))
        served: dict[str, list[str]] = {}
        for _ in range(4):
            directive = await harness.take()
            served.setdefault(directive.job_id, []).append(directive.step_type)
            await harness.report(directive)
        assert served[job.job_id] == ["OCR", "SIS"]

    async def test_a_group_runs_side_by_side(self, harness: EngineHarness) -> None:
        """Both directives are out before either is answered; what follows waits for both."""
        pair = protocol(recipe("left", group="g"), recipe("right", group="g"), "last")
        job = await harness.opened(steps=pair)
        both = [await harness.take(), await harness.take()]
        assert {each.step_type for each in both} == {"LEFT", "RIGHT"}
        assert await harness.report(both[1]) is Verdict.ACCEPTED
        assert await harness.waiting() == []
        await harness.report(both[0])
        assert (await harness.take()).step_type == "LAST"
        assert (await harness.job(job)).state is JobState.IN_PROGRESS

    async def test_a_delayed_job_starts_on_time(self, harness: EngineHarness) -> None:
        """Before its time nothing is sent; at it, one directive."""
        job = await harness.opened(not_before=harness.clock() + 60_000)
        await harness.after(59_999)
        assert await harness.waiting() == []
        await harness.after(1)
        assert await harness.waiting() == [job.job_id]

    async def test_many_jobs_of_one_do_not_hold_up_another(self, harness: EngineHarness) -> None:
        """L6: behind a hundred directives of one tenant the only one of another goes out among the first."""
        harness.bus.away = True
        for _ in range(100):
            await harness.opened(tenant="loud")
        quiet = await harness.opened(tenant="quiet")
        await harness.rest()
        await harness.bus_back()
        await harness.rest()
        sent = harness.bus.jobs()
        assert len(sent) == 101
        assert sent.index(quiet.job_id) <= 2

    async def test_urgent_goes_first_within_a_tenant(self, harness: EngineHarness) -> None:
        """Priority orders a tenant's own work when it has to wait."""
        harness.bus.away = True
        for _ in range(5):
            await harness.opened(priority=1)
        fast = await harness.opened(priority=9)
        await harness.rest()
        await harness.bus_back()
        await harness.rest()
        assert harness.bus.jobs().index(fast.job_id) <= 1  # the first may be whichever found the bus back

    async def test_a_retried_job_starts_at_the_failed_step(self, harness: EngineHarness) -> None:
        """What the ancestor finished is handed on; its directive is the failed step's."""
        await harness.opened(start_index=1, inherited=(done("s3://old/ocr"),))
        directive = await harness.take()
        assert (directive.step_type, directive.inputs) == ("EMBEDDING", {"ocr": {"uri": "s3://old/ocr"}})
