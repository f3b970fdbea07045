"""Work that cannot be done: a failure with a code, never silence, never the end of the service."""

from __future__ import annotations

from typing import Any

from lucius.conformance.bench import Bench
from lucius.conformance.findings import Failed, NotJudged, Rules
from lucius.conformance.ledger import Parcel

rules = Rules()


@rules.rule(
    "malformed",
    "puts malformed directives aside and goes on",
    "One message that nobody can read must not stop a service, nor come back for ever.",
)
async def malformed(bench: Bench) -> str:
    """Each is settled with dead_letter or abandon, or failed; then ordinary work is done."""
    given = {what: bench.give_raw(document) for what, document in _broken(bench).items()}
    within = bench.options.work_within
    for what, parcel in given.items():
        await bench.wait(
            lambda one=parcel: one.outcome is not None,  # type: ignore[misc]
            within,
            f"a directive that {what} was neither settled nor refused within {within:g} s",
        )
    for what, parcel in given.items():
        if parcel.outcome == "complete" and not _failed(bench, parcel):
            raise Failed(f"a directive that {what} was settled as complete; it is lost without a word")
    await bench.done()
    return f"{len(given)} of them put aside"


@rules.rule(
    "unknown-fields",
    "ignores fields it does not know",
    "The contract grows by new fields; a service that refuses them breaks with the next release of Lucius.",
)
async def unknown_fields(bench: Bench) -> str:
    """New fields in the directive and in a ref change nothing."""
    more = {"a_new_field": {"of": ["a", "later", "version"]}, "another_one": 7}
    attempt = bench.attempt(more=more | {"input_ref": {"uri": bench.document, "a_new_mark": "x"}})
    bench.give(attempt)
    await bench.success(attempt)
    return ""


@rules.rule(
    "bad-payload",
    "refuses a payload that does not fit, for good and with a code",
    "Trying again cannot mend a payload: FAILED_FINAL saves everybody the wait.",
)
async def bad_payload(bench: Bench) -> str:
    """FAILED_FINAL with a code."""
    options = bench.options
    if options.any_payload:
        return "it takes every payload, as it says"
    if options.bad_payload is None:
        raise NotJudged("give --bad-payload, or --any-payload if every payload is right")
    attempt = bench.attempt(payload=options.bad_payload)
    bench.give(attempt)
    reported = await bench.result(attempt)
    if reported.status != "FAILED_FINAL":
        raise Failed(f"a payload that does not fit ended {reported.told()}; it must end FAILED_FINAL")
    if reported.error is None or not reported.error.code.strip():
        raise Failed("a payload that does not fit ended FAILED_FINAL without an error code")
    return reported.told()


@rules.rule(
    "missing-input",
    "fails when its input is not there",
    "A failure with a code tells people what is wrong; silence makes them wait for the lease to end.",
)
async def missing_input(bench: Bench) -> str:
    """A failure with a code."""
    if bench.options.any_input:
        return "it does not read its input, as it says"
    gone = (bench.home / "nothing-here.txt").as_uri()
    earlier = {step: {"uri": gone} for step in bench.options.inputs}
    attempt = bench.attempt(source=gone, more={"inputs": earlier})
    bench.give(attempt)
    reported = await bench.result(attempt)
    if reported.status == "SUCCEEDED":
        raise Failed("it reports success although its input is not there (--any-input if it reads none)")
    if reported.error is None or not reported.error.code.strip():
        raise Failed(f"a missing input ended {reported.status} without an error code")
    return reported.told().replace(str(bench.home), "…")


def _broken(bench: Bench) -> dict[str, Any]:
    """What is wrong, and a directive that is wrong in this way. Each has a token of its own."""

    def good() -> dict[str, Any]:
        return bench.attempt().document

    def without(name: str) -> dict[str, Any]:
        return {key: value for key, value in good().items() if key != name}

    return {
        "is a list": [1, 2, 3],
        "is a string": "do this",
        "is empty": {},
        "has no jobId": without("jobId"),
        "has no lease_id": without("lease_id"),
        "has no input_ref": without("input_ref"),
        "has a word for attempt_no": good() | {"attempt_no": "one"},
        "has a list for payload": good() | {"payload": []},
        "has a string for input_ref": good() | {"input_ref": "document.txt"},
    }


def _failed(bench: Bench, parcel: Parcel) -> bool:
    """Whether the service reported a failure for it, which is a way to refuse it too."""
    attempts = bench.ledger.attempts.values()
    mine = [one for one in attempts if one.token.encode() in parcel.body and one.result is not None]
    return any(one.result is not None and one.result.status != "SUCCEEDED" for one in mine)
