from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.errors import Invalid
from lucius.wire.messages import (
    AckMessage,
    HeartbeatMessage,
    ResultMessage,
    decode_directive,
    decode_reply,
    encode,
)

DIRECTIVE: dict[str, Any] = {
    "type": "DIRECTIVE",
    "jobId": "job_123",
    "tenant_id": "tenant_a",
    "stepId": "step_01",
    "protocol_id": "doc_ingest_v1",
    "step_type": "OCR",
    "attempt_no": 1,
    "lease_id": "9a7c",
    "input_ref": {"uri": "s3://b/input.pdf"},
    "workspace_ref": {"uri": "s3://b/workspace/"},
    "output_ref": {"uri": "s3://b/output.json"},
    "payload": {"language": "en"},
    "mode": "DEFAULT",
    "lane": 4,
    "routing_key_used": "tenant_a",
    "correlation_id": None,
    "traceparent": None,
}
ACK: dict[str, Any] = {
    "type": "ACK",
    "jobId": "job_123",
    "stepId": "step_01",
    "tenant_id": "tenant_a",
    "attempt_no": 1,
    "lease_id": "9a7c",
    "timestamp": "2026-01-27T10:02:00Z",
}
RESULT = ACK | {"type": "RESULT", "status": "SUCCEEDED", "output_ref": {"uri": "s3://b/o.json"}}


def pointer(raw: bytes | dict[str, Any]) -> str:
    """Where the refusal of this reply points."""
    with pytest.raises(Invalid) as refusal:
        decode_reply(raw)
    [problem] = refusal.value.problems
    return problem.pointer


def test_a_directive_has_exactly_the_contract_fields() -> None:
    """What is sent is the contract's example, nulls of required fields included, nothing else."""
    sent = msgspec.json.decode(encode(decode_directive(msgspec.json.encode(DIRECTIVE))))
    assert sent == DIRECTIVE


def test_additive_fields_travel() -> None:
    """The fields added to the contract come through, and unknown ones are ignored."""
    more = {"schema_version": "v1", "inputs": {"s0": {"uri": "u"}}, "callback_token": "t"}
    sent = encode(decode_directive(msgspec.json.encode(DIRECTIVE | more | {"invented_later": [1]})))
    assert msgspec.json.decode(sent) == DIRECTIVE | more


@pytest.mark.parametrize("as_bytes", [True, False])
@pytest.mark.parametrize(
    ("raw", "kind"),
    [
        (ACK, AckMessage),
        (RESULT, ResultMessage),
        (ACK | {"type": "HEARTBEAT", "progress": 0.5}, HeartbeatMessage),
    ],
)
def test_replies_from_bytes_and_from_json(raw: dict[str, Any], kind: type, as_bytes: bool) -> None:
    """A reply reads the same from the bus and from an HTTP body; unknown fields do no harm."""
    extended = raw | {"x": {}}
    reply = decode_reply(msgspec.json.encode(extended) if as_bytes else extended)
    assert type(reply) is kind
    assert msgspec.json.decode(encode(reply)) == raw


@pytest.mark.parametrize(
    ("failure_class", "status"),
    [
        ("RETRYABLE", "FAILED_RETRY"),
        ("non-retryable", "FAILED_FINAL"),
        ("NON_RETRYABLE", "FAILED_FINAL"),
        (None, "FAILED_RETRY"),
    ],
)
def test_the_older_form_of_a_failure(failure_class: str | None, status: str) -> None:
    """FAILED with a class becomes one of the two failures; without a class it may be tried again."""
    reply = decode_reply(RESULT | {"status": "FAILED", "failure_class": failure_class})
    assert isinstance(reply, ResultMessage)
    assert reply.status == status


@pytest.mark.parametrize(
    ("raw", "where"),
    [
        (ACK | {"attempt_no": "1"}, "/attempt_no"),
        (ACK | {"attempt_no": 0}, "/attempt_no"),
        (ACK | {"jobId": None}, "/jobId"),
        ({key: ACK[key] for key in ACK if key != "lease_id"}, "/lease_id"),
        ({key: ACK[key] for key in ACK if key != "type"}, "/type"),
        (ACK | {"type": "DIRECTIVE"}, "/type"),
        (RESULT | {"status": "DONE"}, "/status"),
        (RESULT | {"error": {"code": 5}}, "/error/code"),
        (RESULT | {"error": {}}, "/error/code"),
        (RESULT | {"artifacts": [{"uri": "s3://a"}, 3]}, "/artifacts/1"),
        (RESULT | {"artifacts": [{"uri": "s3://a"}, {}]}, "/artifacts/1/uri"),
        (RESULT | {"output_ref": {"uri": 1}}, "/output_ref/uri"),
        (RESULT | {"status": "FAILED", "failure_class": "perhaps"}, "/failure_class"),
    ],
)
def test_a_wrong_field_is_pointed_at(raw: dict[str, Any], where: str) -> None:
    """A reply that breaks the contract is refused with a pointer to the place, from either form."""
    assert pointer(raw) == where
    assert pointer(msgspec.json.encode(raw)) == where


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "javascript:x",
        "o.json",
        "s3:/b/o",
        "s3://",
        "S3://b/o",
        "://b",
        "3s://b",
        "s3://b/a b",
        "s3://b/o\n",
        "s3://b/\x00",
        "s3://b/\x7f",
        "s3://b/\u2028",
        " s3://b/o",
        "s3://" + "x" * 2044,
        "s3://" + "x" * 200_000,
    ],
)
def test_a_uri_that_names_no_place_is_refused(uri: str) -> None:
    """Outputs and artifacts are `scheme://…` of bounded length, on one line; the refusal points there."""
    assert pointer(RESULT | {"output_ref": {"uri": uri}}) == "/output_ref/uri"
    assert pointer(RESULT | {"artifacts": [{"uri": "s3://a"}, {"uri": uri}]}) == "/artifacts/1/uri"


@pytest.mark.parametrize(
    "ref",
    [
        {"uri": "file:///data/a%20b"},
        {"uri": "abfss://c@account.example/o", "etag": "x", "size": 3},
        {"uri": "urn+x.y-z://Ü/ö"},
        {"uri": "s3://" + "x" * 2043},
    ],
)
def test_a_place_is_taken_whatever_its_scheme(ref: dict[str, Any]) -> None:
    """Where a service writes is its own business, as long as it is a place."""
    reply = decode_reply(RESULT | {"output_ref": ref, "artifacts": [ref]})
    assert isinstance(reply, ResultMessage)
    assert (reply.output_ref, reply.artifacts) == (ref, (ref,))


@pytest.mark.parametrize(
    "ref",
    [
        {"uri": "s3://a", "note": "x" * 8_192},
        {"uri": "s3://" + "\U0001f4c4" * 2_043, "note": "x"},
        {"uri": "s3://a", "note": "\ud800"},
    ],
)
def test_a_ref_too_large_or_not_json_is_refused(ref: dict[str, Any]) -> None:
    """A reference has at most 8 KiB of JSON, and what JSON cannot say is no reference."""
    assert pointer(RESULT | {"artifacts": [ref]}) == "/artifacts/0"


def test_artifacts_are_counted() -> None:
    """A result may name a thousand artifacts and not one more."""
    many = [{"uri": "s3://a"}] * 1_000
    assert isinstance(decode_reply(RESULT | {"artifacts": many}), ResultMessage)
    assert pointer(RESULT | {"artifacts": [*many, *many[:1]]}) == "/artifacts"


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"nonsense", b'"\xff"', b"[]", b"null", b'{"x":' + b"[" * 100_000]
)
def test_what_is_no_object_is_refused(raw: bytes) -> None:
    """Broken, foreign or bottomless JSON is refused like any other wrong reply."""
    assert pointer(raw) in {"", "/type"}


@given(
    st.binary(max_size=60) | st.from_type(type(None)).map(lambda _: msgspec.json.encode(RESULT)), st.data()
)
def test_no_bytes_raise_anything_else(raw: bytes, data: st.DataObject) -> None:
    """Whatever arrives is a reply or `Invalid`, never another error."""
    cut = raw[: data.draw(st.integers(0, len(raw)))]
    try:
        told = {decode_reply(cut).job_id}
    except Invalid as refusal:
        told = {problem.code for problem in refusal.problems}
    assert told
    assert told <= {"job_123", "MALFORMED_JSON", "INVALID_MESSAGE"}
