"""What the Lambda makes of the records of an event, and of settings with which it cannot start."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lucius.errors import Invalid
from lucius.lifebook.ports.queue import Delivery
from lucius.runtime import lifebook_lambda
from lucius.runtime.building.lifebook_backends import load_registry

RECORD = {
    "messageId": "m-1",
    "receiptHandle": "r-1",
    "body": "{}",
    "attributes": {"ApproximateReceiveCount": "2", "SentTimestamp": "17"},
    "messageAttributes": {"send_no": {"stringValue": "3", "dataType": "Number"}},
    "eventSource": "aws:sqs",
}


class Context:
    """What Lambda tells a function of its call."""

    def get_remaining_time_in_millis(self) -> int:
        """Half a minute."""
        return 30_000


class Heard:
    """A lifebook whose worker writes down what it is given."""

    def __init__(self) -> None:
        self.worker = self
        self.deliveries: list[Delivery] = []

    async def handle(self, delivery: Delivery, **_given: Any) -> bool:
        """It is done with."""
        self.deliveries.append(delivery)
        return True


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    """The Lambda, with that lifebook."""
    made = Heard()
    monkeypatch.setattr(lifebook_lambda, "_lifebook", lambda: made)
    monkeypatch.setenv("POWERTOOLS_DEV", "1")
    yield made
    lifebook_lambda._runner().close()
    lifebook_lambda._runner.cache_clear()


@pytest.mark.parametrize(
    ("attributes", "number"),
    [
        (RECORD["messageAttributes"], 3),
        ({}, None),
        (None, None),
        ({"send_no": {"stringValue": "soon", "dataType": "String"}}, None),
        ({"send_no": {"binaryValue": "AAAA", "dataType": "Binary"}}, None),
    ],
)
def test_a_message_with_somebody_elses_attributes_is_judged(
    heard: Heard, attributes: Any, number: int | None
) -> None:
    """The body is canonical: what stands beside it may be missing, or not ours."""
    event = {"Records": [RECORD | {"messageAttributes": attributes}]}
    assert lifebook_lambda.handle(event, Context()) == {"batchItemFailures": []}  # type: ignore[arg-type]
    [delivery] = heard.deliveries
    assert (delivery.message_id, delivery.receipt, delivery.body) == ("m-1", "r-1", b"{}")
    assert (delivery.send_no, delivery.receives, delivery.sent_at) == (number, 2, 17)


def test_a_function_that_cannot_start_fails_its_call(heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told message by message, no alarm on errors would hear of it while runs go to the dead letters."""

    def refuse() -> Heard:
        raise Invalid("no such registry", code="BAD_SETTINGS")

    monkeypatch.setattr(lifebook_lambda, "_lifebook", refuse)
    with pytest.raises(Invalid, match="no such registry"):
        lifebook_lambda.handle({"Records": [RECORD]}, Context())  # type: ignore[arg-type]
    assert heard.deliveries == []


def test_workflows_that_fail_at_import_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the module raises, the setting that named it is in the message."""
    (tmp_path / "failing_flows.py").write_text("1 / 0\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(
        Invalid, match=r"LUCIUS_LIFEBOOK_WORKFLOWS=failing_flows:registry .*ZeroDivisionError"
    ):
        load_registry("failing_flows:registry")
