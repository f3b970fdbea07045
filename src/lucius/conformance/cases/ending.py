"""SIGTERM: take nothing new, finish or report what is there, and go."""

from __future__ import annotations

from lucius.conformance.attempts import Attempt
from lucius.conformance.bench import Bench
from lucius.conformance.findings import Failed, Rules
from lucius.conformance.ledger import Parcel

rules = Rules()


@rules.rule(
    "drain-idle",
    "ends soon after SIGTERM when it has nothing to do",
    "A service that waits for its long poll to end is killed by whoever deploys it.",
)
async def drain_idle(bench: Bench) -> str:
    """Exit code 0 within the time given."""
    await bench.done()
    began = bench.ledger.now()
    bench.subject.terminate()
    told = await _end(bench)
    took = bench.ledger.now() - began
    await bench.back()
    await bench.done()
    return f"{told} after {took:.1f} s"


@rules.rule(
    "drain",
    "finishes or reports its work after SIGTERM, and takes nothing new",
    "Deployments end services all day; work that is dropped in silence waits for its lease to end.",
)
async def drain(bench: Bench) -> str:
    """A RESULT for what was running; nothing new asked for; exit code 0."""
    attempt = bench.slow()
    bench.give(attempt)
    await bench.working(attempt)
    began = bench.ledger.now()
    bench.subject.terminate()
    await bench.quiet()  # a signal takes a moment to arrive
    given_at, early, late = bench.ledger.now(), bench.attempt(), bench.attempt()
    parcels = [bench.give(early)]
    await bench.quiet()
    bench.ledger.void()  # a long poll that is still open ends with nothing; now only who asks again gets more
    parcels.append(bench.give(late))
    told = await _end(bench)
    took = bench.ledger.now() - began
    _check_work(attempt)
    for parcel in parcels:
        _check_new(parcel, given_at)
    ended = attempt.result.told() if attempt.result is not None else ""
    await bench.back()
    return f"{told} after {took:.1f} s; the running work ended {ended}"


async def _end(bench: Bench) -> str:
    within = bench.options.drain_within
    try:
        code = await bench.subject.ended(within)
    except TimeoutError:
        raise Failed(f"it was still there {within:g} s after SIGTERM") from None
    if isinstance(code, int) and code != 0:
        raise Failed(f"after SIGTERM it ended with exit code {code} instead of 0")
    return "exit code 0" if code == 0 else str(code)


def _check_work(attempt: Attempt) -> None:
    if attempt.result is None:
        raise Failed(
            f"it dropped {attempt.name} at SIGTERM: it ended without a RESULT, not even FAILED_RETRY"
        )


def _check_new(parcel: Parcel, given_at: float) -> None:
    """Work that came on a poll begun before may be done or given back; none may be asked for after."""
    if parcel.taken_at is None:
        return
    if parcel.asked_at >= given_at:
        raise Failed("it asked for more work after SIGTERM, and took it")
    if parcel.attempt is not None and parcel.attempt.result is None and parcel.outcome != "abandon":
        raise Failed("it took a directive after SIGTERM and neither did the work nor gave it back")
