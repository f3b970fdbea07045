from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest
import structlog

from lucius.core import commands as cmd
from lucius.security.redaction import MASK, redact
from lucius.telemetry.journal import Journal
from lucius.telemetry.logs import IDS, bound, configure_logs, ids_of
from tests.telemetry.jobs import START, Story, order, succeeded

SECRET = "whsec_hunter2hunter2hunter2"


@pytest.fixture(autouse=True)
def untouched_logging() -> Iterator[None]:
    """Give the process its own logging back after each test."""
    root, names = logging.getLogger(), ("uvicorn", "uvicorn.error", "uvicorn.access", "asyncio", "apsw")
    handlers, level = list(root.handlers), root.level
    before = {n: (logging.getLogger(n).level, logging.getLogger(n).propagate) for n in names}
    yield
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, (old_level, propagate) in before.items():
        logging.getLogger(name).setLevel(old_level)
        logging.getLogger(name).propagate = propagate
    structlog.reset_defaults()
    structlog.contextvars.clear_contextvars()


def _start(level: str = "info", style="json", redact=redact) -> io.StringIO:
    stream = io.StringIO()
    configure_logs(redact=redact, clock=lambda: START, level=level, style=style, stream=stream)
    return stream


def _lines(stream: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def _fail() -> None:
    raise ValueError(SECRET)


def test_a_line_is_json_with_time_level_and_bound_ids() -> None:
    """Ids bound round a piece of work are on every line written inside, and gone after it."""
    stream = _start()
    log = structlog.get_logger("t")
    with bound(jobId="j", tenant_id="acme", lease_id=None):
        log.info("inside", n=1)
    log.info("outside")
    inside, outside = _lines(stream)
    assert inside == {
        "event": "inside", "n": 1, "jobId": "j", "tenant_id": "acme", "level": "info",
        "timestamp": "2023-11-14T22:13:20.000Z",
    }  # fmt: skip
    assert "jobId" not in outside


def test_secrets_are_redacted_in_fields_messages_and_tracebacks() -> None:
    """Neither a field, nor a text, nor an exception shows a secret, from us or from the library."""
    stream = _start()
    structlog.get_logger("t").warning(f"for {SECRET}", password="x")
    try:
        _fail()
    except ValueError:
        structlog.get_logger("t").exception("failed")
        logging.getLogger("other").exception("failed with %s", SECRET)
    assert len(_lines(stream)) == 3
    assert "ValueError" in stream.getvalue()
    assert "hunter2" not in stream.getvalue()
    assert _lines(stream)[0]["password"] == MASK


def test_a_redaction_that_fails_withholds_the_line() -> None:
    """Rather no text than an unsearched one, and the caller never notices."""

    def broken(value):
        raise TypeError

    stream = _start(redact=broken)
    structlog.get_logger("t").info(SECRET)
    (line,) = _lines(stream)
    assert line["error"] == "TypeError"
    assert "hunter2" not in stream.getvalue()


def test_a_line_that_is_no_json_is_still_a_line() -> None:
    """Broken text and huge numbers are written as their repr; the caller never notices."""
    stream = _start()
    structlog.get_logger("t").info("odd", text="\ud800", number=2**80, thing=object)
    (line,) = _lines(stream)
    assert line["number"] == str(2**80)


def test_library_lines_take_the_same_way() -> None:
    """A uvicorn line is JSON with the bound ids, and its own handlers are gone."""
    logging.getLogger("uvicorn").addHandler(logging.StreamHandler())
    stream = _start()
    with bound(correlation_id="c"):
        logging.getLogger("uvicorn.error").info("started on %s", "http://x")
    (line,) = _lines(stream)
    assert line["event"] == "started on http://x"
    assert line["logger"] == "uvicorn.error"
    assert line["correlation_id"] == "c"
    assert logging.getLogger("uvicorn").handlers == []


def test_access_lines_need_debug() -> None:
    """One line a request is written only by who asks for debug."""
    quiet = _start("info")
    logging.getLogger("uvicorn.access").info("GET /")
    assert quiet.getvalue() == ""
    loud = _start("debug")
    logging.getLogger("uvicorn.access").info("GET /")
    assert len(_lines(loud)) == 1


def test_the_level_holds_back_what_is_below_it() -> None:
    """At warning an info line is not written."""
    stream = _start("warning")
    structlog.get_logger("t").info("no")
    structlog.get_logger("t").warning("yes")
    assert [line["event"] for line in _lines(stream)] == ["yes"]


def test_console_style_is_text_for_people() -> None:
    """Asked for, lines are readable text and no JSON."""
    stream = _start(style="console")
    structlog.get_logger("t").info("hello", jobId="j-1")
    assert "hello" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


def test_ids_are_spelled_as_in_the_messages() -> None:
    """All six ids come out under the names directives use."""
    job = Story(order()).job
    assert set(ids_of(job, job.steps[0])) == set(IDS)


def test_a_job_that_works_is_silent_unless_debug_is_on() -> None:
    """At info the hot path writes nothing; at debug one line an event."""
    quiet = _start("info")
    Journal().observe_commit(succeeded().changes)
    assert quiet.getvalue() == ""
    loud = _start("debug")
    story = succeeded()
    Journal().observe_commit(story.changes)
    assert [line["seq"] for line in _lines(loud)] == list(range(1, story.job.version + 1))


def test_a_lost_attempt_is_told_with_its_own_ids() -> None:
    """A retry says which attempt and lease was lost, why, and when the next one comes."""
    stream = _start()
    story = Story(order()).published("ocr").then(cmd.Tick(), 30_000)
    Journal().observe_commit(story.changes)
    (line,) = _lines(stream)
    assert line["event"] == "step.retry_scheduled"
    assert line["level"] == "warning"
    assert (line["jobId"], line["stepId"], line["tenant_id"]) == ("job-1", "ocr", "acme")
    assert (line["attempt_no"], line["lease_id"], line["correlation_id"]) == (1, "lease-0", "corr-9")
    assert line["track"] == "dispatch"
    assert line["error"].startswith("ACK_TIMEOUT")
