"""What crosses the bus: DIRECTIVE out; ACK, HEARTBEAT and RESULT back.

The contract is additive: fields we do not know are ignored, fields that are not set are not sent,
and a field of the wrong type is refused with a pointer to it. Field names at the wire are those of
the message contract (`jobId`, `stepId`, the rest in snake case).
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

import msgspec

from lucius.core.job import Fault, Ref
from lucius.core.refs import MAX_REF, MAX_URI
from lucius.errors import Invalid, Problem

Count = Annotated[int, msgspec.Meta(ge=1)]
Lane = Annotated[int, msgspec.Meta(ge=0, le=15)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]


class WireMessage(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    gc=False,
    omit_defaults=True,
    tag_field="type",
    rename={"job_id": "jobId", "step_id": "stepId"},
):
    """Base: which attempt at which step of which job."""

    job_id: Name
    step_id: Name
    tenant_id: Name
    attempt_no: Count
    lease_id: Name


class DirectiveMessage(WireMessage, frozen=True, kw_only=True, tag="DIRECTIVE"):
    """Do this step, once, under this lease."""

    protocol_id: str
    step_type: Name
    input_ref: Ref
    workspace_ref: Ref
    output_ref: Ref
    payload: dict[str, Any]
    mode: str
    lane: Lane
    routing_key_used: str
    correlation_id: str | None
    traceparent: str | None
    schema_version: str | None = None
    inputs: dict[str, Ref] = {}
    """The accepted outputs of earlier steps, by step id."""
    lease_expires_at: str | None = None
    callback_urls: dict[str, str] | None = None
    """`ack`, `result` and `heartbeat`, for services that answer over HTTP."""
    callback_token: str | None = None


class AckMessage(WireMessage, frozen=True, kw_only=True, tag="ACK"):
    """The directive was picked up."""

    timestamp: str
    correlation_id: str | None = None


class HeartbeatMessage(WireMessage, frozen=True, kw_only=True, tag="HEARTBEAT"):
    """The work goes on."""

    timestamp: str
    progress: Share | None = None
    message: str | None = None
    correlation_id: str | None = None


class ResultMessage(WireMessage, frozen=True, kw_only=True, tag="RESULT"):
    """The work is over. Inside, `status` is never FAILED: `decode_reply` has judged its class."""

    status: Literal["SUCCEEDED", "FAILED_RETRY", "FAILED_FINAL", "FAILED"]
    timestamp: str
    output_ref: Ref | None = None
    artifacts: tuple[Ref, ...] = ()
    error: Fault | None = None
    failure_class: str | None = None
    correlation_id: str | None = None


ReplyMessage = AckMessage | ResultMessage | HeartbeatMessage

#: How the older form of a failure reads today. Without a class it is retryable: budgets bound it.
_FAILURES: Final = {None: "FAILED_RETRY", "RETRYABLE": "FAILED_RETRY", "NON_RETRYABLE": "FAILED_FINAL"}
#: More than any step writes; a RESULT is stored, shown and sent on whole.
MAX_ARTIFACTS: Final = 1_000
#: What a service wrote is not judged by the tenant's lists, but it must be a place, on one line.
_URI: Final = re.compile(r"[a-z][a-z0-9+.-]{0,31}://[^\s\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_WHERE: Final = re.compile(r" - at `\$(.*)`$")
_MISSING: Final = re.compile(r"^Object missing required field `([^`]+)`")
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")

_encoder: Final = msgspec.json.Encoder()
_directives: Final = msgspec.json.Decoder(DirectiveMessage)
_replies: Final = msgspec.json.Decoder(ReplyMessage)

encode = _encoder.encode
"""`encode(message) -> bytes`: the JSON of any message; equal messages give equal bytes."""


def decode_directive(raw: bytes) -> DirectiveMessage:
    """A directive from the bus; `Invalid` with pointers if it is none."""
    try:
        return _directives.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _invalid(error) from error


def decode_reply(raw: bytes | dict[str, Any]) -> ReplyMessage:
    """An ACK, RESULT or HEARTBEAT from bytes or from parsed JSON; `Invalid` with pointers if it is none."""
    try:
        reply = msgspec.convert(raw, ReplyMessage) if isinstance(raw, dict) else _replies.decode(raw)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise _invalid(error) from error
    return _judged(reply) if type(reply) is ResultMessage else reply


def _judged(result: ResultMessage) -> ResultMessage:
    """The result with its failure class settled and its refs known to be refs."""
    if result.output_ref is not None:
        _check_ref(result.output_ref, "/output_ref")
    if len(result.artifacts) > MAX_ARTIFACTS:
        raise _refused("/artifacts", f"Expected at most {MAX_ARTIFACTS} artifacts")
    for index, ref in enumerate(result.artifacts):
        _check_ref(ref, f"/artifacts/{index}")
    if result.status != "FAILED":
        return result
    given = result.failure_class
    status = _FAILURES.get(given.upper().replace("-", "_") if given is not None else None)
    if status is None:
        raise _refused("/failure_class", "Expected `RETRYABLE` or `NON_RETRYABLE`")
    return msgspec.structs.replace(result, status=status)


def _check_ref(ref: Ref, pointer: str) -> None:
    """Raise `Invalid` unless the ref names a place and is small; its `uri` is never repeated."""
    uri = ref.get("uri")
    if type(uri) is not str:
        raise _refused(f"{pointer}/uri", "Expected a `uri` of type `str`")
    if len(uri) > MAX_URI or _URI.fullmatch(uri) is None:
        why = f"Expected `scheme://…` of at most {MAX_URI} characters, without blanks or control characters"
        raise _refused(f"{pointer}/uri", why)
    if len(ref) == 1 and uri.isascii():  # nearly all of them: too short to be too large
        return
    try:
        size = len(_encoder.encode(ref))
    except (UnicodeEncodeError, RecursionError) as error:  # parsed by others than us
        raise _refused(pointer, "Expected what JSON can say") from error
    if size > MAX_REF:
        raise _refused(pointer, f"Expected at most {MAX_REF} bytes of JSON")


def _invalid(error: Exception) -> Invalid:
    if not isinstance(error, msgspec.ValidationError):
        return _refused("", "The message is not JSON, or nested too deeply", code="MALFORMED_JSON")
    text = str(error)
    where = _WHERE.search(text)
    pointer = "".join(f"/{name or index}" for name, index in _STEP.findall(where[1])) if where else ""
    missing = _MISSING.match(text)
    return _refused(f"{pointer}/{missing[1]}" if missing else pointer, _WHERE.sub("", text))


def _refused(pointer: str, why: str, code: str = "INVALID_MESSAGE") -> Invalid:
    problem = Problem(pointer=pointer, code=code, message=why)
    return Invalid(f"{why} (at {pointer or 'the message'})", code=code, problems=(problem,))
