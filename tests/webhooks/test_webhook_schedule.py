from __future__ import annotations

from email.utils import formatdate

import pytest

from lucius.ports.deliveries import DeliveryState
from lucius.webhooks.post import Answer
from lucius.webhooks.schedule import RETRY_DELAYS, judge

START = 1_000_000


@pytest.mark.parametrize(
    ("answer", "tries"),
    [
        (Answer(status=410, code="HTTP_ERROR"), 1),
        (Answer(code="WEBHOOK_PORT"), 1),
        (Answer(status=404, code="HTTP_ERROR"), 4),
        (Answer(status=302, code="REDIRECTED"), 4),
        (Answer(code="WEBHOOK_ADDRESS"), 4),
        *((Answer(status=status, code="HTTP_ERROR"), 8) for status in (408, 409, 425, 429, 500, 503)),
        *(
            (Answer(code=code), 8)
            for code in ("TIMEOUT", "CONNECT_FAILED", "TLS_FAILED", "WEBHOOK_UNRESOLVED")
        ),
    ],
    ids=str,
)
def test_how_often_each_failure_is_tried(answer: Answer, tries: int) -> None:
    """Each kind of failure has its number of tries, and the last one exhausts."""
    states = [judge(answer, tries=n, now=0, chance=0).state for n in range(1, tries + 1)]
    assert states == [DeliveryState.PENDING] * (tries - 1) + [DeliveryState.EXHAUSTED]


@pytest.mark.parametrize(
    ("retry_after", "expected"),
    [
        (None, 5_000),
        ("1", 5_000),
        ("60", 60_000),
        ("99999999999999999999", RETRY_DELAYS[-1]),
        ("-5", 5_000),
        ("soon", 5_000),
        ("٩٩", 5_000),
        (formatdate(START // 1000 + 90, usegmt=True), 90_000),
        (formatdate(START // 1000 - 90, usegmt=True), 5_000),
    ],
)
def test_retry_after_can_only_lengthen_a_wait(retry_after: str | None, expected: int) -> None:
    """The endpoint's wish is honoured up to twelve hours, and nonsense is ignored."""
    answer = Answer(status=429, code="HTTP_ERROR", retry_after=retry_after)
    outcome = judge(answer, tries=1, now=START, chance=0)
    assert outcome.next_at == START + expected


def test_waits_are_spread() -> None:
    """Chance makes a wait longer by up to a fifth, never shorter."""
    waits = [judge(Answer(code="TIMEOUT"), tries=3, now=0, chance=c).next_at for c in (0.0, 0.5, 1.0)]
    assert waits == [120_000, 132_000, 144_000]
