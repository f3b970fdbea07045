"""Whether a lifebook file keeps the promises that its rows can show.

It reads, and only reads, a live file or a stopped one, all from one snapshot: processes go on meanwhile.

    RUN      what holds of every run (`core/promises.py`); what is searched for is what the record says
    KEY      every key belongs to one run
    WAKE     an open run is due some day, so that the sweeper looks after it if its message is lost
    WALLET   free + held + spent = deposited; held = what open runs reserve; spent >= what ended runs spent
    EVENT    an event in the outbox is that of a run that has ended; with the journal: every end was told
    QUEUE    what workspaces are served by is what their messages are; no message is newer than its run
    FILE     SQLite itself finds the file sound

What forgotten runs spent is in the wallet and nowhere else, so more may be spent than the stored runs tell.
An event that was told leaves the file: that none is missing is seen only beside the journal it was told to.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import msgspec

from lucius.core.promises import Breach
from lucius.errors import Invalid, Unavailable
from lucius.lifebook.adapters.sqlite import verify_money, verify_queues
from lucius.lifebook.adapters.sqlite.schema import VERSION
from lucius.lifebook.core.events import RunEvent, event_of
from lucius.lifebook.core.promises import broken
from lucius.lifebook.core.run import Run
from lucius.wire.timestamps import parse_iso

MAX_FINDINGS = 1_000
TELLING_MS = 600_000
"""Events are told in about the order of their ends: one so much older than the journal's first line may be
in a journal that somebody has put away."""
KEEP = "keep a copy of the file and report it"

_RUNS = "SELECT job_id, unique_id, workspace_id, created_at, status, version, due_at, ttl_at, body FROM runs"
_COLUMNS = ("job_id", "unique_id", "workspace_id", "created_at", "status", "version", "due_at", "ttl_at")
_TWICE = "SELECT max(job_id), count(*) FROM runs NOT INDEXED GROUP BY unique_id HAVING count(*) > 1"
_run = msgspec.json.Decoder(Run).decode
_event = msgspec.json.Decoder(RunEvent).decode


class LifebookReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification read, and what it found."""

    path: str
    schema_version: int
    runs: int
    messages: int
    untold: int
    """Events that wait to be told."""
    broken: int
    """How many findings there were; only the first thousand are kept."""
    findings: tuple[Breach, ...]

    @property
    def ok(self) -> bool:
        """True when no promise is seen broken."""
        return self.broken == 0


class _Read:
    """What is gathered in one pass over the runs."""

    def __init__(self) -> None:
        self.runs = 0
        self.held: dict[str, int] = {}
        self.spent: dict[str, int] = {}
        self.ended: dict[str, tuple[str, int]] = {}
        """The id of its event -> the run, and when it ended."""


def verify(path: Path | str, *, journal: Path | None = None) -> LifebookReport:
    """Check every promise that this file can show. `journal`: where its events were told, if to a file.

    Raises `Unavailable` if it is no lifebook file of ours.
    """
    connection = _open(Path(path))
    read, found = _Read(), list[Breach]()
    count = messages = untold = 0
    try:
        connection.execute("BEGIN")  # one snapshot for all that follows
        messages = _number(connection, "SELECT count(*) FROM messages")
        untold = _number(connection, "SELECT count(*) FROM events")
        for breach in _all(connection, read, journal):
            count += 1
            if len(found) < MAX_FINDINGS:
                found.append(breach)
    except apsw.CorruptError as error:
        count += 1
        what = f"the file cannot be read ({error}); restore the newest backup that verifies"
        found.append(Breach(promise="FILE", job_id="", what=what))
    finally:
        connection.close()
    return LifebookReport(
        path=str(path),
        schema_version=VERSION,
        runs=read.runs,
        messages=messages,
        untold=untold,
        broken=count,
        findings=tuple(found),
    )


def _all(connection: apsw.Connection, read: _Read, journal: Path | None) -> Iterator[Breach]:
    for row in connection.execute(_RUNS):
        yield from _one(row, read)
    for job_id, times in connection.execute(_TWICE):
        yield _breach(
            "KEY", job_id, f"{times} runs share its idempotency key; {KEEP}, and cancel all but one"
        )
    yield from verify_money.wallets(connection, read.held, read.spent)
    yield from _outbox(connection, read)
    yield from verify_queues.queues(connection)
    for (line,) in connection.execute("SELECT quick_check FROM pragma_quick_check"):
        if line != "ok":
            yield _breach("FILE", "", f"SQLite says: {line}; restore the newest backup that verifies")
    if journal is not None and journal.is_file():
        # After the file was read: what has left its outbox by then is in the journal.
        yield from _untold(journal, read.ended)


def _one(row: tuple[Any, ...], read: _Read) -> Iterator[Breach]:
    """One run: its record, and the columns by which it is found."""
    *columns, body = row
    read.runs += 1
    try:
        run = _run(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        yield _breach("RUN", columns[0], f"its record cannot be read ({error}); restore it from a backup")
        return
    for text in broken(run):
        then = (
            "the run itself is over"
            if run.terminal
            else f"then cancel it: lucius lifebook cancel {run.job_id}"
        )
        yield _breach("RUN", run.job_id, f"breaks the promise that a run {text}; {KEEP}, {then}")
    for name, value in zip(_COLUMNS, columns, strict=True):
        if value != getattr(run, name):
            promise = {"due_at": "WAKE", "unique_id": "KEY"}.get(name, "RUN")
            what = f"its row has {name} {value}, its record {getattr(run, name)}; {KEEP}"
            after = (
                ", and cancel the run: nothing may wake it" if promise == "WAKE" and not run.terminal else ""
            )
            yield _breach(promise, run.job_id, what + after)
    if run.terminal:
        read.spent[run.workspace_id] = read.spent.get(run.workspace_id, 0) + run.credits_spent
        read.ended[event_of(run).event_id] = run.job_id, run.updated_at
    else:
        read.held[run.workspace_id] = read.held.get(run.workspace_id, 0) + run.credits_reserved


def _outbox(connection: apsw.Connection, read: _Read) -> Iterator[Breach]:
    """The events that wait; those of runs that are forgotten by now can only be believed."""
    for event_id, body in connection.execute("SELECT event_id, body FROM events"):
        read.ended.pop(event_id, None)
        try:
            event = _event(body)
            row = connection.execute("SELECT body FROM runs WHERE job_id = ?", (event.job_id,)).fetchone()
            run = None if row is None else _run(row[0])
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            yield _breach("EVENT", "", f"the event {event_id}, or its run, cannot be read ({error}); {KEEP}")
            continue
        if run is None:
            continue
        if not run.terminal:
            yield _breach("EVENT", run.job_id, f"is open, and analytics will hear of its end; {KEEP}")
        elif event != event_of(run) or event.event_id != event_id:
            yield _breach("EVENT", run.job_id, f"its event {event_id} is not what its record says; {KEEP}")


def _untold(journal: Path, missing: dict[str, tuple[str, int]]) -> Iterator[Breach]:
    """Runs whose end nobody was told, as far back as the journal goes."""
    first: int | None = None
    with journal.open("rb") as lines:
        for line in lines:
            try:
                told = msgspec.json.decode(line, type=_Told)
                first = parse_iso(told.completed_at) if first is None else first
            except (msgspec.DecodeError, UnicodeDecodeError, Invalid):
                continue  # half a line, from a crash
            missing.pop(told.event_id, None)
    for job_id, at in missing.values():
        if first is not None and at > first + TELLING_MS:
            what = (
                f"has ended, and {journal.name} does not have its event; {KEEP}, and tell analytics by hand"
            )
            yield _breach("EVENT", job_id, what)


class _Told(msgspec.Struct, frozen=True):
    """What we look for in a line of the journal."""

    event_id: str
    completed_at: str


def _breach(promise: str, job_id: str, what: str) -> Breach:
    return Breach(promise=promise, job_id=job_id, what=what)


def _number(connection: apsw.Connection, query: str) -> int:
    [(number,)] = connection.execute(query)
    return int(number)


def _open(path: Path) -> apsw.Connection:
    """A connection that cannot write; a file on a read-only disk is read as it is."""
    if not path.is_file():
        raise Unavailable(f"{path} is not there", code="LIFEBOOK_UNREADABLE")
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    try:
        try:
            connection = apsw.Connection(path.resolve().as_uri(), flags=flags)
            version = connection.pragma("user_version")
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            connection = apsw.Connection(f"{path.resolve().as_uri()}?immutable=1", flags=flags)
            version = connection.pragma("user_version")
        connection.set_busy_timeout(5000)
    except apsw.Error as error:
        raise Unavailable(
            f"{path} cannot be read as a lifebook: {error}", code="LIFEBOOK_UNREADABLE"
        ) from error
    if version != VERSION:
        connection.close()
        message = f"{path} has schema version {version}, this Lucius verifies version {VERSION}"
        raise Unavailable(message, code="LIFEBOOK_TOO_NEW" if version > VERSION else "LIFEBOOK_TOO_OLD")
    return connection
