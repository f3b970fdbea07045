from __future__ import annotations

import asyncio

from prometheus_client.parser import text_string_to_metric_families

from lucius.core import commands as cmd
from lucius.core.job import Fault
from lucius.telemetry import catalogue as c
from lucius.telemetry.metrics import Metrics
from tests.telemetry.jobs import START, Story, order, succeeded


def _make(**options) -> Metrics:
    return Metrics(clock=lambda: START, version="1.2.3", **options)


def _value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def test_a_job_that_works_is_counted_once_everywhere() -> None:
    """Accepted, finished, timed per step, its replies accepted: each exactly as often as it happened."""
    metrics = _make()
    metrics.observe_commit(succeeded().changes)
    assert _value(metrics, "lucius_jobs_accepted_total", request_type="OCR_SIS") == 1
    assert _value(metrics, "lucius_jobs_finished_total", request_type="OCR_SIS", outcome="succeeded") == 1
    assert _value(metrics, "lucius_job_seconds_sum", request_type="OCR_SIS", outcome="succeeded") == 0.6
    assert _value(metrics, "lucius_step_seconds_count", step_type="SIS", outcome="succeeded") == 1
    assert (
        abs((_value(metrics, "lucius_step_seconds_sum", step_type="OCR", outcome="succeeded") or 0) - 0.3)
        < 1e-9
    )
    assert _value(metrics, "lucius_dispatch_lag_seconds_count") == 2
    assert _value(metrics, "lucius_ack_lag_seconds_count", step_type="OCR") == 1
    assert _value(metrics, "lucius_replies_total", reply="ACK", verdict="accepted") == 2
    assert _value(metrics, "lucius_replies_total", reply="RESULT", verdict="accepted") == 2
    assert _value(metrics, "lucius_events_total", type="attempt.created") == 2


def test_a_result_without_an_ack_counts_no_ack() -> None:
    """RESULT implies ACK for the job, but nobody sent one."""
    metrics = _make()
    metrics.observe_commit(Story(order()).published("ocr").result("ocr").changes)
    assert _value(metrics, "lucius_replies_total", reply="RESULT", verdict="accepted") == 1
    assert _value(metrics, "lucius_replies_total", reply="ACK", verdict="accepted") is None


def test_retries_are_counted_by_track_and_timeouts_by_clock() -> None:
    """An ACK that never came, a lease that ran out and a bus that was away are told apart."""
    story = Story(order())
    story.then(cmd.PublishFailed(step_id="ocr", attempt_no=1, error=Fault(code="BUS_AWAY")))
    story.published("ocr").then(cmd.Tick(), 30_000).then(cmd.Tick(), 60_000)
    story.published("ocr").acked("ocr").then(cmd.Tick(), 15 * 60_000)
    metrics = _make()
    metrics.observe_commit(story.changes)
    retries = {
        track: _value(metrics, "lucius_retries_total", step_type="OCR", track=track)
        for track in ("publish", "dispatch", "execution")
    }
    assert retries == {"publish": 1, "dispatch": 1, "execution": 1}
    assert _value(metrics, "lucius_timeouts_total", clock="ack") == 1
    assert _value(metrics, "lucius_timeouts_total", clock="lease") == 1


def test_a_service_that_uses_the_cores_codes_is_no_timeout() -> None:
    """Only a clock of ours that ran out counts, whatever a service calls its failure."""
    metrics = _make()
    metrics.observe_commit(
        Story(order()).published("ocr").result("ocr", "FAILED_FINAL", "LEASE_EXPIRED").changes
    )
    assert _value(metrics, "lucius_jobs_finished_total", request_type="OCR_SIS", outcome="failed") == 1
    assert _value(metrics, "lucius_timeouts_total", clock="lease") is None


def test_refused_replies_show_their_verdict() -> None:
    """A second RESULT is a duplicate and counted as one."""
    story = succeeded()
    story.result("sis")
    metrics = _make()
    metrics.observe_commit(story.changes)
    metrics.observe_reply("ACK", "unknown")
    assert _value(metrics, "lucius_replies_total", reply="RESULT", verdict="duplicate") == 1
    assert _value(metrics, "lucius_replies_total", reply="ACK", verdict="unknown") == 1


def test_tenants_are_no_label_unless_asked_for_and_then_capped() -> None:
    """A thousand tenants make no series by default, and with a cap of two exactly three."""
    plain, capped = _make(), _make(tenants=2)
    for number in range(1000):
        changes = Story(order(f"job-{number}", tenant_id=f"t{number}")).changes
        plain.observe_commit(changes)
        capped.observe_commit(changes)
    assert _value(plain, "lucius_tenant_jobs_total", tenant_id="t0", outcome="accepted") is None
    assert _value(capped, "lucius_tenant_jobs_total", tenant_id="t1", outcome="accepted") == 1
    assert _value(capped, "lucius_tenant_jobs_total", tenant_id="t2", outcome="accepted") is None
    assert _value(capped, "lucius_tenant_jobs_total", tenant_id="other", outcome="accepted") == 998


def test_made_up_methods_and_routes_make_no_series() -> None:
    """What a client invents ends up under `other`."""
    metrics = _make()
    for number in range(500):
        metrics.observe_request(f"M{number}", f"/r{number}", 404, 0.001)
    families = {family.name: family for family in metrics.registry.collect()}
    assert len(families["lucius_http_requests"].samples) == 101
    assert {sample.labels["method"] for sample in families["lucius_http_requests"].samples} == {"other"}


async def test_exposition_parses_and_holds_what_was_fed() -> None:
    """The text is the Prometheus format, histograms end in a +Inf bucket equal to their count."""
    metrics = _make()
    metrics.observe_batch(12)
    metrics.observe_commit_seconds(0.004)
    metrics.observe_webhook("delivered", 0.02)
    metrics.observe_duty("due", {"ticked": 3, "failed": 0})
    metrics.observe_bus("publish", "ok", 7)
    metrics.gauges("test", lambda: {c.BUS_BACKLOG: {"a": 1, "b": 2}, c.DUE_BACKLOG: 5})
    body, content_type = await metrics.exposition()
    families = {family.name: family for family in text_string_to_metric_families(body.decode())}
    assert content_type.startswith("text/plain")
    assert families["lucius_reconciler_actions"].samples[0].value == 3
    assert len(families["lucius_reconciler_actions"].samples) == 1
    assert families["lucius_due_backlog"].samples[0].value == 5
    assert {s.labels["subscription"]: s.value for s in families["lucius_bus_backlog"].samples} == {
        "a": 1,
        "b": 2,
    }
    samples = {(s.name, s.labels.get("le")): s.value for s in families["lucius_ledger_batch_size"].samples}
    assert samples["lucius_ledger_batch_size_bucket", "8.0"] == 0
    assert samples["lucius_ledger_batch_size_bucket", "16.0"] == 1
    assert (
        samples["lucius_ledger_batch_size_bucket", "+Inf"] == samples["lucius_ledger_batch_size_count", None]
    )


async def test_openmetrics_is_served_to_who_asks_for_it() -> None:
    """Content negotiation gives OpenMetrics, closed by its end marker."""
    metrics = _make()
    metrics.observe_commit(succeeded().changes)
    body, content_type = await metrics.exposition("application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert body.endswith(b"# EOF\n")


async def test_a_gauge_that_fails_or_hangs_costs_only_itself() -> None:
    """The scrape answers with the other gauges and counts what it left out."""
    metrics = _make(patience=0.01)

    async def hang():
        await asyncio.Event().wait()
        return {}

    def fail():
        raise RuntimeError

    metrics.gauges("hanging", hang)
    metrics.gauges("failing", fail)
    metrics.gauges("fine", lambda: {c.DEAD_LETTERS: 4})
    await metrics.exposition()
    assert _value(metrics, "lucius_dead_letters") == 4
    assert _value(metrics, "lucius_telemetry_errors_total", part="hanging") == 1
    assert _value(metrics, "lucius_telemetry_errors_total", part="failing") == 1


async def test_process_facts_are_served() -> None:
    """Version, uptime, memory and CPU of this very process."""
    times = iter([START, START + 2500])
    metrics = Metrics(clock=lambda: next(times), version="1.2.3")
    families = {family.name: family for family in metrics.registry.collect()}
    assert families["lucius_build_info"].samples[0].labels["version"] == "1.2.3"
    assert families["lucius_uptime_seconds"].samples[0].value == 2.5
    assert families["process_resident_memory_bytes"].samples[0].value > 1_000_000
    assert families["process_cpu_seconds"].samples[0].value > 0


def test_two_registries_share_nothing() -> None:
    """No global state: what one process part counts, another does not see."""
    one, other = _make(), _make()
    one.observe_commit(succeeded().changes)
    assert _value(other, "lucius_jobs_accepted_total", request_type="OCR_SIS") is None
