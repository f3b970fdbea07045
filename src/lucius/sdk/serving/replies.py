"""What a service says about an attempt: ACK, HEARTBEAT, RESULT.

No state. A reply names the attempt of its directive and no other. Words are cut to what Lucius keeps, and
freed of what JSON cannot say (halves of surrogate pairs, as file names bring them): a failure that cannot
be told would be worse than one told in other words.
"""

from __future__ import annotations

from typing import Any, Final

from lucius.core.job import Fault
from lucius.errors import Invalid
from lucius.sdk.serving.outcomes import Final as Refused
from lucius.sdk.serving.outcomes import Output, StepFailure
from lucius.wire.messages import (
    AckMessage,
    DirectiveMessage,
    HeartbeatMessage,
    ResultMessage,
    decode_reply,
    encode,
)
from lucius.wire.timestamps import iso

MAX_CODE: Final = 100
MAX_MESSAGE: Final = 2_000
MAX_PROGRESS_MESSAGE: Final = 500


def ack(directive: DirectiveMessage, at_ms: int) -> AckMessage:
    """The directive was picked up."""
    return AckMessage(**_attempt(directive, at_ms))


def heartbeat(
    directive: DirectiveMessage, at_ms: int, progress: float | None = None, message: str | None = None
) -> HeartbeatMessage:
    """The work goes on, and how far it is."""
    return HeartbeatMessage(
        **_attempt(directive, at_ms),
        progress=progress,
        message=_words(message, MAX_PROGRESS_MESSAGE) if message else None,
    )


def succeeded(directive: DirectiveMessage, at_ms: int, output: Output) -> ResultMessage:
    """The work is done: the file for the next step, and all files."""
    first = output.output
    files = output.artifacts if first is None or first in output.artifacts else (first, *output.artifacts)
    return ResultMessage(
        **_attempt(directive, at_ms),
        status="SUCCEEDED",
        output_ref=first.ref() if first is not None else None,
        artifacts=tuple(artifact.ref() for artifact in files),
    )


def failed(directive: DirectiveMessage, at_ms: int, failure: StepFailure) -> ResultMessage:
    """The work failed, with what people and programs need to know."""
    return ResultMessage(
        **_attempt(directive, at_ms),
        status="FAILED_RETRY" if failure.retryable else "FAILED_FINAL",
        error=Fault(code=_words(failure.code, MAX_CODE), message=_words(failure.message, MAX_MESSAGE)),
    )


def sound(result: ResultMessage) -> ResultMessage:
    """The same, known to be one that Lucius can read; `StepFailure` RESULT_REFUSED if it is none.

    What a service returned is looked at before it is stored: of what is stored, every start sends it again.
    """
    try:
        decode_reply(encode(result))
    except Invalid as error:
        why = f"What execute() returned cannot be a result: {error.message}."
        raise Refused("RESULT_REFUSED", why) from None
    return result


def described(error: BaseException | None) -> str:
    """An exception in words, also one that cannot describe itself."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - __str__ of somebody else's exception
        return type(error).__name__


def _attempt(directive: DirectiveMessage, at_ms: int) -> dict[str, Any]:
    return {
        "job_id": directive.job_id,
        "step_id": directive.step_id,
        "tenant_id": directive.tenant_id,
        "attempt_no": directive.attempt_no,
        "lease_id": directive.lease_id,
        "timestamp": iso(at_ms),
        "correlation_id": directive.correlation_id,
    }


def _words(text: str, most: int) -> str:
    return text[:most].encode(errors="replace").decode()
