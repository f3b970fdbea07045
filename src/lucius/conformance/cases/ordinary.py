"""Ordinary work: taken, acknowledged, done, reported, given back."""

from __future__ import annotations

from lucius.conformance.bench import Bench
from lucius.conformance.findings import Failed, Rules
from lucius.conformance.places import check_neighbours, check_refs

rules = Rules()
_SEVERAL = 5
_MANY, _FEW = 6, 2


@rules.rule(
    "takes-work",
    "takes work and acknowledges it in time",
    "Without an ACK Lucius believes that nobody is there, and sends the work to somebody else.",
)
async def takes_work(bench: Bench) -> str:
    """An ACK within the time given."""
    attempt = bench.attempt()
    parcel = bench.give(attempt)
    await bench.taken(parcel)
    await bench.acked(attempt)
    waited = attempt.heard("ACK")[0].at - attempt.lent_at[0]
    await bench.result(attempt)
    return f"ACK after {waited * 1000:.0f} ms"


@rules.rule(
    "ack-first",
    "sends the ACK before the RESULT",
    "The ACK starts the lease; work that begins without one may be given to a second service.",
)
async def ack_first(bench: Bench) -> str:
    """The first reply is an ACK."""
    attempt = bench.attempt()
    bench.give(attempt)
    await bench.result(attempt)
    if attempt.said[0].kind != "ACK":
        raise Failed(f"the first reply about {attempt.name} was a {attempt.said[0].kind}, not an ACK")
    return ""


@rules.rule(
    "result",
    "reports what it wrote, truthfully and in its own folder",
    "Later steps read what the RESULT names; files of two attempts must never mix.",
)
async def result(bench: Bench) -> str:
    """Success, refs below the attempt's folder, sizes and digests right."""
    attempt = bench.attempt()
    bench.give(attempt)
    reported = await bench.success(attempt)
    count = check_refs(attempt, reported)
    check_neighbours(attempt)
    return f"{count} refs checked" if count else "it names no files"


@rules.rule(
    "settles",
    "gives back what it took",
    "A directive that is neither settled nor renewed goes to another service when its lock runs out.",
)
async def settles(bench: Bench) -> str:
    """The lock is settled before it runs out."""
    attempt = bench.attempt()
    parcel = bench.give(attempt)
    await bench.success(attempt)
    patience = bench.ledger.lock_seconds
    await bench.ledger.until(lambda: parcel.outcome is not None or parcel.lapses > 0, patience)
    if parcel.outcome is None or parcel.lapses:
        raise Failed(
            f"it took a directive and did not settle or renew it: its lock of {patience:g} s ran out"
        )
    if parcel.outcome != "complete":
        raise Failed(f"it did the work, yet settled the directive with {parcel.outcome}")
    return ""


@rules.rule(
    "several",
    "finishes several directives that come at once",
    "Under load a receive brings many; each must end.",
)
async def several(bench: Bench) -> str:
    """Five at once, five RESULTs."""
    attempts = [bench.attempt() for _ in range(_SEVERAL)]
    parcels = [bench.give(one) for one in attempts]
    for one in attempts:
        check_refs(one, await bench.success(one))
    for parcel in parcels:
        bench.kept(parcel)
    return f"{_SEVERAL} at once"


@rules.rule(
    "two-tenants",
    "does the work of both tenants when one has much",
    "One tenant must not starve another, nor get the other's results.",
)
async def two_tenants(bench: Bench) -> str:
    """Many of one, few of another: all end, each in its own place."""
    attempts = [bench.attempt(tenant="acme") for _ in range(_MANY)]
    attempts += [bench.attempt(tenant="globex") for _ in range(_FEW)]
    for one in attempts:
        bench.give(one)
    for one in attempts:
        check_refs(one, await bench.success(one))
        check_neighbours(one)
    return f"{_MANY} of one, {_FEW} of the other"
