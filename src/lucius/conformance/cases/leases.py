"""Slow work under a short lease: kept alive by heartbeats, given up when it is taken away or cancelled."""

from __future__ import annotations

from itertools import pairwise

from lucius.conformance.bench import Bench
from lucius.conformance.findings import Failed, NotJudged, Rules
from lucius.conformance.places import check_refs

rules = Rules()
_TWO = 2


@rules.rule(
    "heartbeats",
    "sends a heartbeat before each lease is over",
    "A lease that runs out means that the service died: the work is given to somebody else.",
)
async def heartbeats(bench: Bench) -> str:
    """No gap is longer than the lease."""
    attempt = bench.slow()
    bench.give(attempt)
    await bench.working(attempt)
    await bench.success(attempt, within=bench.options.slow_within)
    times = [one.at for one in attempt.said]
    lasted, longest = times[-1] - times[0], max(after - before for before, after in pairwise(times))
    count, lease = len(attempt.of("HEARTBEAT")), attempt.lease
    if lasted <= lease:
        raise NotJudged(
            f"the slow work took {lasted:.1f} s, less than its lease of {lease:g} s; make it slower"
        )
    if longest > lease:
        raise Failed(
            f"nothing was heard for {longest:.1f} s during {lasted:.1f} s of work; the lease was {lease:g} s "
            f"({count} heartbeats)"
        )
    return f"{count} heartbeats in {lasted:.1f} s of work, the longest gap {longest:.1f} s"


@rules.rule(
    "stale-lease",
    "stops when a heartbeat is answered stale_lease, and does the new attempt",
    "Two services at work on one step waste money; the newer attempt is the one that counts.",
)
async def stale_lease(bench: Bench) -> str:
    """No more heartbeats, at most one late RESULT, and attempt 2 in its own folder."""
    attempt = bench.slow()
    attempt.forced["HEARTBEAT"] = "stale_lease"
    bench.give(attempt)
    await bench.working(attempt)
    await bench.wait(
        lambda: bool(attempt.of("HEARTBEAT") or attempt.of("RESULT")),
        attempt.lease + bench.options.ack_within,
        f"neither a heartbeat nor a RESULT within the lease of {attempt.lease:g} s",
    )
    if not attempt.of("HEARTBEAT"):
        raise NotJudged("the slow work was over before the first heartbeat; make it slower")
    attempt.superseded = True
    second = bench.attempt(after=attempt)
    bench.give(second)
    check_refs(second, await bench.success(second, within=bench.options.slow_within))
    await bench.quiet(attempt.lease)
    more, late = len(attempt.of("HEARTBEAT")) - 1, len(attempt.of("RESULT"))
    if more >= _TWO:
        raise Failed(f"it sent {more} more heartbeats for {attempt.name} after it was told stale_lease")
    if late > 1:
        raise Failed(f"it sent {late} RESULTs for {attempt.name} after it was told stale_lease")
    return "stopped" if not late else "one late RESULT, judged stale"


@rules.rule(
    "cancel",
    "ends properly when the job is cancelled",
    "A cancelled job waits for its running step: the step may stop or finish, but it must end.",
)
async def cancel(bench: Bench) -> str:
    """After `cancel_requested` one RESULT comes; a failure if the service says that it honours cancel."""
    attempt = bench.slow()
    attempt.cancel_requested = True
    bench.give(attempt)
    await bench.working(attempt)
    reported = await bench.result(attempt, within=bench.options.slow_within)
    await bench.quiet()
    if len(attempt.bodies()) > 1:
        raise Failed(f"{len(attempt.bodies())} different RESULTs came for the cancelled {attempt.name}")
    if reported.status != "SUCCEEDED":
        return f"it stopped: {reported.told()}"
    if bench.options.honours_cancel:
        raise Failed("it says that it honours cancel, but went on to the end after cancel_requested")
    return "it went on to the end, which is allowed"


def _patience(bench: Bench) -> float:
    return bench.options.work_within + 10 * bench.options.lease
