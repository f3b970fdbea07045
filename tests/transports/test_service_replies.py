"""What a service says, word for word."""

from __future__ import annotations

import msgspec

from lucius.sdk.serving import replies
from lucius.sdk.serving.outcomes import Artifact, Final, Output, Retryable
from lucius.wire.messages import DirectiveMessage, ReplyMessage, decode_reply, encode

DIRECTIVE = DirectiveMessage(
    job_id="job-1", step_id="ocr", tenant_id="acme", attempt_no=3, lease_id="lease-3", protocol_id="p",
    step_type="OCR", input_ref={"uri": "s3://in/a"}, workspace_ref={"uri": "s3://ws"},
    output_ref={"uri": "s3://out"}, payload={}, mode="DEFAULT", lane=4, routing_key_used="acme",
    correlation_id="c-1", traceparent=None,
)  # fmt: skip
ATTEMPT = {
    "jobId": "job-1", "stepId": "ocr", "tenant_id": "acme", "attempt_no": 3, "lease_id": "lease-3",
    "timestamp": "1970-01-01T00:00:01.500Z", "correlation_id": "c-1",
}  # fmt: skip


def _artifact(name: str) -> Artifact:
    return Artifact(name=name, uri=f"s3://ws/OCR/3/{name}", content_type="text/plain", size=2, sha256="ab")


def _sent(reply: ReplyMessage) -> dict[str, object]:
    """As it arrives: what Lucius itself can read."""
    raw = encode(reply)
    assert decode_reply(raw) == reply
    sent: dict[str, object] = msgspec.json.decode(raw)
    return sent


def test_every_reply_names_the_attempt_of_its_directive() -> None:
    """ACK, HEARTBEAT and RESULT carry the five names, the time and the correlation id."""
    all_kinds = (
        replies.ack(DIRECTIVE, 1500),
        replies.heartbeat(DIRECTIVE, 1500),
        replies.succeeded(DIRECTIVE, 1500, Output()),
        replies.failed(DIRECTIVE, 1500, Final("BROKEN_PDF")),
    )
    for reply in all_kinds:
        assert ATTEMPT.items() <= _sent(reply).items()


def test_a_heartbeat_tells_how_far_the_work_is() -> None:
    """Progress and words go along; long words are cut to 500 characters."""
    sent = _sent(replies.heartbeat(DIRECTIVE, 1500, 0.25, "é" * 501))
    assert sent["progress"] == 0.25
    assert sent["message"] == "é" * 500


def test_a_success_names_the_output_and_all_files() -> None:
    """The output is among the artifacts, once, even if the service forgot to list it there."""
    text, pages = _artifact("output.txt"), _artifact("pages.json")
    listed = _sent(replies.succeeded(DIRECTIVE, 1500, Output(output=text, artifacts=(text, pages))))
    forgot = _sent(replies.succeeded(DIRECTIVE, 1500, Output(output=text, artifacts=(pages,))))
    assert listed == forgot
    assert (listed["status"], listed["output_ref"]) == ("SUCCEEDED", text.ref())
    assert listed["artifacts"] == [text.ref(), pages.ref()]


def test_a_failure_says_whether_to_try_again() -> None:
    """`Retryable` becomes FAILED_RETRY and `Final` becomes FAILED_FINAL, with code and message."""
    later = _sent(replies.failed(DIRECTIVE, 1500, Retryable("DISK_FULL", "No room.")))
    never = _sent(replies.failed(DIRECTIVE, 1500, Final("BROKEN_PDF", "No PDF.")))
    assert (later["status"], later["error"]) == ("FAILED_RETRY", {"code": "DISK_FULL", "message": "No room."})
    assert (never["status"], never["error"]) == ("FAILED_FINAL", {"code": "BROKEN_PDF", "message": "No PDF."})


def test_a_failure_that_cannot_be_said_is_still_told() -> None:
    """Too long code and message are cut, and half a surrogate pair does not stop the RESULT."""
    sent = _sent(replies.failed(DIRECTIVE, 1500, Final("C" * 101, "\udce9" + "m" * 2000)))
    assert sent["error"] == {"code": "C" * 100, "message": "?" + "m" * 1999}
