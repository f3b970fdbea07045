"""What an invoker refuses, as the worker's log and Temporal show it."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from lucius.engines.temporal.activities import TOKEN_REFUSED, InvokerActivities
from lucius.engines.temporal.connection import in_words
from lucius.errors import Forbidden, Invalid, Unavailable
from lucius.ports.invoker import Advance
from tests.invoker.world import Recorder

ASK = Advance(job_id="j-1", tenant_id="t", known=1, lease_id="l")


async def asked(activities: InvokerActivities) -> ApplicationError:
    """The failure of one call."""
    with pytest.raises(ApplicationError) as raised:
        await activities.advance(ASK)
    return raised.value


async def test_a_refusal_is_a_line_and_a_wrong_token_is_said_once() -> None:
    """No traceback for what a setting can mend; a part that is away says nothing here."""
    invoker = Recorder()
    activities = InvokerActivities(invoker)
    with capture_logs() as lines:
        for error in (
            Unavailable("away", code="INVOKER_UNAVAILABLE"),
            Forbidden("no", code=TOKEN_REFUSED),
            Forbidden("no", code=TOKEN_REFUSED),
            Invalid("what?", code="INVALID_BODY"),
        ):
            invoker.error = error
            failure = await asked(activities)
            assert (failure.type, failure.category) == (error.code, ApplicationErrorCategory.BENIGN)
        invoker.error = None
        await activities.advance(ASK)
        invoker.error = Forbidden("no", code=TOKEN_REFUSED)
        await asked(activities)
    assert [line["code"] for line in lines] == [TOKEN_REFUSED, "INVALID_BODY", TOKEN_REFUSED]
    assert {line["event"] for line in lines} == {"the invoker refuses"}


def test_a_connection_that_fails_is_told_in_words() -> None:
    """Names of a library's types are left out, unless nothing else is there."""
    refused = 'E(Transport, ConnectError("tcp connect error", Os { message: "Connection refused" }))'
    assert in_words(RuntimeError(refused)) == "tcp connect error: Connection refused"
    plain = "ConnectError(Custom { kind: InvalidData, error: InvalidMessage(InvalidContentType) })"
    assert in_words(RuntimeError(plain)) == "what answers there does not speak TLS"
    assert in_words(RuntimeError("InvalidCertificate(UnknownIssuer)")) == "InvalidCertificate(UnknownIssuer)"
