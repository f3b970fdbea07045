"""What a service sends: in the form of the contract, and secrets only to whom they concern."""

from __future__ import annotations

from lucius.conformance.attempts import Attempt
from lucius.conformance.bench import Bench
from lucius.conformance.findings import Failed, Rules
from lucius.conformance.ledger import Fault

rules = Rules()


@rules.rule(
    "secrets",
    "keeps each secret where it belongs",
    "The service key opens every directive, a callback token one attempt; neither may travel with the other.",
)
async def secrets(bench: Bench) -> str:
    """No key with a callback, no token with another attempt's reply."""
    await _mixed_work(bench)
    leaks = [one for one in bench.ledger.faults if one.leak]
    if leaks:
        raise Failed(_told(leaks))
    return ""


@rules.rule(
    "well-formed",
    "sends nothing that Lucius would refuse",
    "A reply that is refused with 4xx has not been heard.",
)
async def well_formed(bench: Bench) -> str:
    """No call of the whole run was answered with 4xx."""
    await _mixed_work(bench)
    refused = [one for one in bench.ledger.faults if not one.leak]
    if refused:
        raise Failed(_told(refused))
    return ""


async def _mixed_work(bench: Bench) -> None:
    """Several jobs at once and a second attempt: occasions to take one for another."""
    attempts = [bench.attempt(tenant=tenant) for tenant in ("acme", "globex", "acme")]
    for one in attempts:
        bench.give(one)
    for one in attempts:
        await _over(bench, one)
    second = bench.attempt(after=attempts[0])
    bench.give(second)
    await _over(bench, second)


async def _over(bench: Bench, attempt: Attempt) -> None:
    """Wait for the end, or for a fault that may be why it never comes."""
    await bench.ledger.until(
        lambda: attempt.result is not None or bool(bench.ledger.faults) or bench.subject.died() is not None,
        bench.options.work_within,
    )


def _told(faults: list[Fault]) -> str:
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{faults[0].told()}{more}"
