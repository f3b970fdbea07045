from __future__ import annotations

import shutil
from pathlib import Path

import apsw
import pytest

from lucius.adapters.ledgers.sqlite import SqliteLedger
from lucius.adapters.ledgers.sqlite.verify import verify
from lucius.core import commands as cmd
from lucius.errors import Unavailable
from lucius.testing.jobs import HOUR, Hand, claim, lost, protocol, recipe
from lucius.testing.ledgers import LedgerHarness


async def _filled(path: Path, *, close: bool = True) -> tuple[SqliteLedger, dict[str, str]]:
    """A ledger with a job of every kind."""
    clock = Hand()
    ledger = SqliteLedger(str(path), clock=clock)
    harness = LedgerHarness(ledger=ledger, clock=clock)
    made: dict[str, str] = {}
    for name in ("queued", "running", "done", "failed", "paused", "cancelled", "retrying"):
        order = harness.order()
        await harness.create(order, claim(order, name, explicit=name in {"queued", "done"}))
        made[name] = order.job_id
    made["pair"] = (
        await harness.open(steps=protocol(recipe("l", group="g"), recipe("r", group="g")), tenant="zeta")
    ).job_id
    await harness.tell(made["running"], cmd.Published(step_id="ocr", attempt_no=1))
    await harness.finish(made["done"])
    await harness.fail(made["failed"])
    await harness.tell(made["paused"], cmd.Pause())
    await harness.tell(made["cancelled"], cmd.Cancel())
    await harness.report(made["retrying"], lost())
    clock.advance(HOUR)
    await harness.tell(made["retrying"], cmd.Tick())
    await harness.tell(made["done"], cmd.Ack(step_id="ocr", attempt_no=9, lease_id="late"))
    if close:
        await ledger.close()
    return ledger, made


async def test_a_sound_ledger_is_found_sound(tmp_path: Path) -> None:
    """Nothing is found where nothing is wrong, everything is read, and progress is told."""
    path = tmp_path / "ledger.db"
    _, made = await _filled(path)
    seen: list[tuple[int, int]] = []
    report = verify(path, progress=lambda done, total: seen.append((done, total)))
    assert (report.ok, report.findings) == (True, ())
    assert report.jobs == len(made)
    stored = apsw.Connection(str(path)).execute(
        "SELECT (SELECT count(*) FROM events), (SELECT count(*) FROM outbox)"
    )
    assert stored.fetchall() == [(report.events, report.directives)]
    assert seen == [(8, 8)]


async def test_a_live_ledger_can_be_verified(tmp_path: Path) -> None:
    """Beside a process that holds the ledger, and without writing to it."""
    path = tmp_path / "ledger.db"
    ledger, made = await _filled(path, close=False)
    before = path.read_bytes()
    assert verify(path).jobs == len(made)
    assert verify(path).ok
    assert path.read_bytes() == before
    await ledger.close()


async def test_a_ledger_of_many_pages_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages meet without a gap."""
    monkeypatch.setattr("lucius.adapters.ledgers.sqlite.verify.PAGE", 3)
    path = tmp_path / "ledger.db"
    _, made = await _filled(path)
    assert verify(path).jobs == len(made)


def test_what_is_no_ledger_is_refused(tmp_path: Path) -> None:
    """A missing file, a letter and an empty database are three kinds of no."""
    letter, empty = tmp_path / "letter", tmp_path / "empty.db"
    letter.write_bytes(b"dear sir " * 400)
    apsw.Connection(str(empty)).execute("CREATE TABLE t (x)")
    codes = []
    for path in (tmp_path / "nothing", letter, empty):
        with pytest.raises(Unavailable) as refusal:
            verify(path)
        codes.append(refusal.value.code)
    assert codes == ["LEDGER_UNREADABLE", "LEDGER_UNREADABLE", "LEDGER_TOO_OLD"]


_BODY = "UPDATE jobs SET body = json_set(body, {}) WHERE job_id = :{}"
DAMAGE: dict[str, tuple[str, str]] = {
    "a terminal row changed": ("S13", _BODY.format("'$.updated_at', 1", "done")),
    "a state went back": ("S13", _BODY.format("'$.state', 'IN_PROGRESS'", "done")),
    "the counted state differs": ("S12", "UPDATE jobs SET state = 'PAUSED' WHERE job_id = :running"),
    "a step skipped ahead": (
        "S4", _BODY.format("'$.steps[0].state', 'PENDING', '$.steps[1].state', 'AWAITING_ACK'", "queued")
    ),
    "two steps active": ("S3", _BODY.format("'$.steps[1].state', 'IN_PROGRESS'", "running")),
    "a step left open": ("S5", _BODY.format("'$.steps[2].state', 'PENDING'", "cancelled")),
    "an attempt was counted up": ("S7", _BODY.format("'$.steps[0].attempt.attempt_no', 9", "running")),
    "a lease was swapped": ("S13", _BODY.format("'$.steps[0].attempt.lease_id', 'mine'", "running")),
    "an output without success": (
        "S16", _BODY.format("'$.final_output', json('{\"uri\":\"s3://x\"}')", "running")
    ),
    "success without an output": (
        "S16",
        "UPDATE jobs SET body = json_remove(body, '$.final_output') WHERE job_id = :done"
    ),
    "a wake-up was lost": ("L1", "UPDATE jobs SET due_at = NULL WHERE job_id = :running"),
    "a wake-up too late": ("L1", "UPDATE jobs SET due_at = due_at + 1 WHERE job_id = :retrying"),
    "an event is gone": ("S13", "DELETE FROM events WHERE job_id = :done AND seq = 3"),
    "the last event is gone": (
        "S13",
        ("DELETE FROM events WHERE job_id = :running AND seq = (SELECT max(seq) FROM events WHERE "
        "job_id = :running)")
    ),
    "an event was edited": (
        "S13",
        ("UPDATE events SET body = json_set(body, '$.result.output_ref.uri', 's3://evil') WHERE job_id"
        " = :done AND type = 'step.succeeded'")
    ),
    "an event was renumbered": (
        "S13",
        "UPDATE events SET body = json_set(body, '$.seq', 2) WHERE job_id = :done AND seq = 3"
    ),
    "a result of another attempt": (
        "S6",
        ("UPDATE events SET body = json_set(body, '$.attempt_no', 7) WHERE job_id = :done AND type = "
        "'step.succeeded'")
    ),
    "an event of another kind": (
        "S2",
        ("UPDATE events SET body = json_object('type', 'job.pausing', 'seq', seq, 'at', at) WHERE "
        "job_id = :queued AND seq = 2")
    ),
    "a directive is gone": ("S10", "DELETE FROM outbox WHERE job_id = :done AND step_index = 1"),
    "a directive too many": (
        "S10",
        ("INSERT INTO outbox (job_id, step_index, attempt_no, topic, priority, created_at, body) "
        "SELECT job_id, step_index, 2, topic, priority, created_at, body FROM outbox WHERE job_id = "
        ":queued")
    ),
    "directive bytes changed": (
        "S10",
        "UPDATE outbox SET body = json_set(body, '$.lease_id', 'mine') WHERE job_id = :running"
    ),
    "a directive for somebody else": (
        "S10",
        "UPDATE outbox SET body = json_set(body, '$.tenant_id', 'zeta') WHERE job_id = :running"
    ),
    "a directive on another lane": (
        "S10",
        "UPDATE outbox SET topic = 'global-bus-p0' WHERE job_id = :running"
    ),
    "a directive without its lease": (
        "S10",
        "UPDATE outbox SET body = json_remove(body, '$.lease_id') WHERE job_id = :running"
    ),
    "a key that points nowhere": ("S8", "UPDATE idempotency SET job_id = 'nobody' WHERE job_id = :running"),
    "an explicit key lost": ("S8", "DELETE FROM idempotency WHERE job_id = :queued"),
    "two jobs of one key": (
        "S8",
        ("UPDATE orders SET claim_key = (SELECT claim_key FROM orders WHERE job_id = :queued) WHERE "
        "job_id = :running")
    ),
    "a dead letter lost": ("S5", "DELETE FROM dead_letters WHERE job_id = :failed"),
    "a dead letter invented": (
        "S5",
        "INSERT INTO dead_letters VALUES (:running, 'acme', 'ocr', 'X', '', 1, NULL)"
    ),
    "a job of another tenant": ("S15", "UPDATE jobs SET tenant_id = 'zeta' WHERE job_id = :queued"),
    "a key of another tenant": ("S15", "UPDATE idempotency SET tenant_id = 'zeta' WHERE job_id = :running"),
    "the order is gone": ("S13", "DELETE FROM orders WHERE job_id = :queued"),
    "the order is another's": (
        "S13",
        "UPDATE orders SET body = json_set(body, '$.job_id', 'x') WHERE job_id = :queued"
    ),
    "the job row is gone": ("S13", "DELETE FROM jobs WHERE job_id = :queued"),
    "the protocol changed": ("S17", "UPDATE protocols SET body = json_set(body, '$.steps[0].lease', 1)"),
    "the protocol is gone": ("S17", "DELETE FROM protocols"),
    "a row that is no record": (
        "S13",
        "UPDATE jobs SET body = json_remove(body, '$.steps') WHERE job_id = :queued"
    ),
}  # fmt: skip


@pytest.mark.parametrize("damage", DAMAGE)
async def test_damage_is_found(damage: str, tmp_path: Path) -> None:
    """Whatever is done to a good ledger behind its back, the promise it breaks is named."""
    path = tmp_path / "ledger.db"
    _, made = await _filled(path)
    promise, sql = DAMAGE[damage]
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    connection = apsw.Connection(str(copy))
    used = {name: job_id for name, job_id in made.items() if f":{name}" in sql}
    connection.execute(sql, used or None)
    assert connection.changes() > 0
    connection.close()
    report = verify(copy)
    assert not report.ok
    assert promise in {finding.promise for finding in report.findings}, report.findings
    touched = {finding.job_id for finding in report.findings}
    assert not used or touched & {*used.values(), "nobody"}


async def test_a_damaged_file_is_found(tmp_path: Path) -> None:
    """Pages overwritten by something else are reported, not survived in silence."""
    path = tmp_path / "ledger.db"
    await _filled(path)
    content = bytearray(path.read_bytes())
    for start in range(4096 * 4, len(content), 4096 * 3):
        content[start : start + 512] = b"\xff" * 512
    path.write_bytes(content)
    report = verify(path)
    assert not report.ok


async def test_only_the_first_findings_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger that is wrong everywhere is reported in bounded memory, and fully counted."""
    monkeypatch.setattr("lucius.adapters.ledgers.sqlite.verify.MAX_FINDINGS", 3)
    path = tmp_path / "ledger.db"
    _, made = await _filled(path)
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE jobs SET due_at = 7")
    connection.close()
    report = verify(path)
    assert (len(report.findings), report.broken) == (3, len(made))
