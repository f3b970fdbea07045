"""Lucius is away for a moment: only 5xx and broken connections are worth trying again, and those always."""

from __future__ import annotations

from lucius.conformance.bench import Bench
from lucius.conformance.findings import Failed, Rules

rules = Rules()
_TWICE = 2


@rules.rule(
    "result-503",
    "repeats a RESULT that was answered 503 until it is taken",
    "A RESULT that is given up is work done for nothing.",
)
async def result_503(bench: Bench) -> str:
    """Two refusals, then the same RESULT."""
    attempt = bench.attempt()
    attempt.refusals["RESULT"] = _TWICE
    bench.give(attempt)
    within = bench.options.work_within
    await bench.wait(
        lambda: attempt.result is not None,
        within,
        f"the RESULT of {attempt.name} was answered 503 and not sent again until it was taken, "
        f"within {within:g} s",
    )
    if len(attempt.bodies()) > 1:
        raise Failed(f"the RESULT of {attempt.name} changed between two tries")
    return f"taken at try {len(attempt.of('RESULT'))}"


@rules.rule(
    "ack-503",
    "survives an ACK that was answered 503",
    "An ACK that is lost must be repeated or followed by the RESULT, which implies it.",
)
async def ack_503(bench: Bench) -> str:
    """The attempt ends in spite of it."""
    attempt = bench.attempt()
    attempt.refusals["ACK"] = 1
    parcel = bench.give(attempt)
    await bench.success(attempt)
    bench.kept(parcel)
    repeated = len(attempt.of("ACK")) > 1
    return "the ACK was repeated" if repeated else "the ACK was not repeated; the RESULT implies it"


@rules.rule(
    "lucius-503",
    "goes on when receive and settle are answered 503",
    "Lucius is restarted now and then; services must still be there afterwards.",
)
async def lucius_503(bench: Bench) -> str:
    """Both routes are away, then work is done as before."""
    ledger = bench.ledger
    ledger.away = {"receive": _TWICE, "settle": 1}
    ledger.void()  # long polls come back, so that the next one meets the outage
    within = bench.options.start_within
    await bench.wait(
        lambda: ledger.away["receive"] == 0,
        within,
        f"receive was answered 503 and not asked again within {within:g} s",
    )
    await bench.done()
    return ""


@rules.rule(
    "late-verdicts",
    "takes every verdict on a RESULT for an answer",
    "A reply that is answered 200 has been heard, whatever the verdict: sending it again helps nobody.",
)
async def late_verdicts(bench: Bench) -> str:
    """One RESULT for each of the verdicts that refuse it, then new work."""
    attempts = {
        verdict: bench.attempt() for verdict in ("stale_lease", "after_terminal", "conflict", "unknown")
    }
    for verdict, attempt in attempts.items():
        attempt.forced["RESULT"] = verdict
        bench.give(attempt)
    for attempt in attempts.values():
        within = bench.options.work_within
        missing = f"no RESULT for {attempt.name} within {within:g} s"
        await bench.wait(lambda heard=attempt: bool(heard.of("RESULT")), within, missing)  # type: ignore[misc]
    await bench.quiet()
    for verdict, attempt in attempts.items():
        count = len(attempt.of("RESULT"))
        if count > 1:
            raise Failed(f"a RESULT that was answered 200 {verdict} was sent {count} times")
    await bench.done()
    return ""
