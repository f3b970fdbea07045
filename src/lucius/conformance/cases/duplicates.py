"""The same directive twice: locks run out, and Lucius publishes open attempts again when it restarts."""

from __future__ import annotations

from lucius.conformance.attempts import Attempt
from lucius.conformance.bench import Bench
from lucius.conformance.findings import Failed, Rules
from lucius.conformance.places import check_refs, check_unchanged, written

rules = Rules()


@rules.rule(
    "duplicate-running",
    "works once when an attempt comes again while it is worked on",
    "Locks run out and Lucius restarts: the same attempt may come twice, and work costs money.",
)
async def duplicate_running(bench: Bench) -> str:
    """One piece of work, one RESULT body."""
    attempt = bench.slow()
    bench.give(attempt)
    await bench.at_work(attempt)
    again = bench.give(attempt)
    gap = bench.ledger.now() - attempt.lent_at[0]
    await bench.success(attempt, within=bench.options.slow_within)
    overlapped, before, said = again.count > 0, written(attempt), len(attempt.said)
    await bench.taken(again)
    await bench.quiet(gap + bench.options.quiet)  # a second piece of work would end about now
    check_unchanged(attempt, before, "for the duplicate")
    _one_body(attempt)
    if any(one.kind == "HEARTBEAT" for one in attempt.said[said + 1 :]):
        raise Failed("it sends heartbeats after the RESULT: a second piece of work is under way")
    if not overlapped:
        return "it takes one directive at a time: the duplicate came to it after the end"
    count = len(attempt.of("RESULT"))
    return "one RESULT" if count == 1 else f"{count} RESULTs, all the same"


@rules.rule(
    "duplicate-done",
    "sends the stored RESULT again when a finished attempt comes again",
    "The first RESULT may be lost on its way; without a second one the job waits for its lease to end.",
)
async def duplicate_done(bench: Bench) -> str:
    """Re-emission, equal to the first, without working again."""
    attempt = await bench.done()
    await bench.quiet()  # until the service has read our answer, the attempt is not over for it
    before, earlier = written(attempt), len(attempt.heard("RESULT"))
    bench.give(attempt)
    within = bench.options.work_within
    await bench.wait(
        lambda: len(attempt.heard("RESULT")) > earlier,
        within,
        f"{attempt.name} was done and came again, but its RESULT was not sent again within {within:g} s",
    )
    await bench.quiet()
    _one_body(attempt)
    check_unchanged(attempt, before, "although the attempt was done")
    return "the same RESULT, without working again"


@rules.rule(
    "next-attempt",
    "works anew on the next attempt at the same step",
    "A new attempt has another number, lease and token; the memory of the old one is not its result.",
)
async def next_attempt(bench: Bench) -> str:
    """Attempt 2 has its own work, folder, lease and token."""
    first = await bench.done()
    before = written(first)
    second = bench.attempt(after=first)
    bench.give(second)
    reported = await bench.success(second)
    check_refs(second, reported)
    check_unchanged(first, before, "in the folder of attempt 1")
    if before and not written(second):
        raise Failed("attempt 2 wrote nothing into its own folder: the result of attempt 1 was sent for it")
    return ""


def _one_body(attempt: Attempt) -> None:
    bodies = attempt.bodies()
    if len(bodies) > 1:
        raise Failed(
            f"{len(bodies)} different RESULTs came for {attempt.name}: first {bodies[0].told()}, "
            f"then {bodies[1].told()} with {_difference(bodies[0].output_ref, bodies[1].output_ref)}"
        )


def _difference(first: object, second: object) -> str:
    return "another output_ref" if first != second else "other artifacts or another error"
