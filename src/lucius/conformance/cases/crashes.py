"""kill -9: what a service must remember, and that it gets over it."""

from __future__ import annotations

from lucius.conformance.bench import Bench
from lucius.conformance.findings import Failed, Rules
from lucius.conformance.places import check_refs, check_unchanged, written

rules = Rules()


@rules.rule(
    "crash-memory",
    "sends the stored RESULT again after it was killed and restarted",
    "A memory that dies with the process makes every restart do finished work again.",
)
async def crash_memory(bench: Bench) -> str:
    """Done, killed, restarted, asked again: the same RESULT, no second work."""
    attempt = await bench.done()
    before, earlier = written(attempt), len(attempt.heard("RESULT"))
    await bench.crash()
    bench.give(attempt)
    within = bench.options.work_within
    await bench.wait(
        lambda: len(attempt.heard("RESULT")) > earlier,
        within,
        f"after a restart the RESULT of {attempt.name} was not sent again within {within:g} s",
    )
    await bench.quiet()
    if len(attempt.bodies()) > 1:
        raise Failed(f"after a restart another RESULT came for {attempt.name}: {attempt.bodies()[1].told()}")
    check_unchanged(attempt, before, "after a restart")
    return "the same RESULT, without working again"


@rules.rule(
    "crash-running",
    "does the next attempt after it was killed at work",
    "Whatever the dead process left behind must not be in the way of the attempt that replaces it.",
)
async def crash_running(bench: Bench) -> str:
    """Killed at work; attempt 2 succeeds in its own folder."""
    attempt = bench.slow()
    bench.give(attempt)
    await bench.at_work(attempt)
    await bench.crash()
    attempt.superseded = True
    second = bench.attempt(after=attempt)
    bench.give(second)
    check_refs(second, await bench.success(second))
    return ""
