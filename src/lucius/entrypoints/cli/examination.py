"""What `doctor` looks at: one function a question, each with ok, warn or fail and what to do."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from lucius.errors import LuciusError

if TYPE_CHECKING:
    from lucius.entrypoints.cli.session import Session

_NEEDED_PYTHON = (3, 11)
_NEEDED_SQLITE = (3, 51, 3)
_LITTLE, _TOO_LITTLE = 1_000_000_000, 50_000_000
_YEAR_2025_MS = 1_735_689_600_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One question and its answer."""

    name: str
    state: Literal["ok", "warn", "fail"]
    detail: str
    remedy: str = ""

    def document(self) -> dict[str, str]:
        """For programs."""
        return asdict(self)


def examine(session: Session, data: Path, config: Path | None) -> list[Finding]:
    """Every answer, in the order a person would ask."""
    checks: list[Callable[[], Iterator[Finding]]] = [
        _python,
        _sqlite,
        _reference,
        lambda: _directory(data),
        lambda: _disk(data),
        lambda: _configuration(config),
        _clock,
        lambda: _server(session),
        lambda: _access(data),
    ]
    return [finding for check in checks for finding in check()]


def _python() -> Iterator[Finding]:
    here = sys.version_info[:3]
    said = ".".join(map(str, here))
    if here >= _NEEDED_PYTHON:
        yield Finding(name="python", state="ok", detail=said)
    else:
        yield Finding(name="python", state="fail", detail=said, remedy="Install Python 3.11 or newer.")


def _sqlite() -> Iterator[Finding]:
    from lucius.runtime.offline import sqlite_version

    said = sqlite_version()
    if tuple(map(int, said.split("."))) >= _NEEDED_SQLITE:
        yield Finding(name="sqlite", state="ok", detail=f"{said}, from apsw")
    else:
        remedy = "Versions before 3.51.3 can corrupt a database: pip install --upgrade apsw."
        yield Finding(name="sqlite", state="fail", detail=said, remedy=remedy)


def _reference() -> Iterator[Finding]:
    from lucius.runtime.reference import REMEDY, missing

    if lacking := missing():
        detail = f"the extra [reference] is not installed ({', '.join(lacking)} missing): echo plays them"
        yield Finding(name="services", state="warn", detail=detail, remedy=f"For real work: {REMEDY}.")
    else:
        detail = "the extra [reference] is installed: real OCR, EMBEDDING and SIS"
        yield Finding(name="services", state="ok", detail=detail)


def _directory(data: Path) -> Iterator[Finding]:
    from lucius.runtime.offline import why_not_local

    home = next(path for path in (data.absolute(), *data.absolute().parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=home):
            pass
    except OSError as error:
        remedy = "Name a directory you may write to with --data or LUCIUS_DATA."
        yield Finding(name="data", state="fail", detail=f"{data}: {error.strerror}", remedy=remedy)
        return
    if reason := why_not_local(home):
        yield Finding(name="data", state="fail", detail=reason, remedy="Choose a directory on a local disk.")
    else:
        yield Finding(name="data", state="ok", detail=f"{data}: writable, on a local disk")


def _disk(data: Path) -> Iterator[Finding]:
    from lucius.entrypoints.cli.show.words import size

    home = next(path for path in (data.absolute(), *data.absolute().parents) if path.exists())
    free = shutil.disk_usage(home).free
    state: Literal["ok", "warn", "fail"] = (
        "ok" if free > _LITTLE else "warn" if free > _TOO_LITTLE else "fail"
    )
    remedy = "" if state == "ok" else "Make room: a ledger that cannot write stops Lucius."
    yield Finding(name="disk", state=state, detail=f"{size(free)} free", remedy=remedy)


def _configuration(config: Path | None) -> Iterator[Finding]:
    from lucius.runtime.offline import check_configuration

    named = config or (Path(value) if (value := os.environ.get("LUCIUS_CONFIG")) else None)
    if named is None:
        yield Finding(name="config", state="ok", detail="none named: the shipped protocols")
        return
    problems = check_configuration(named)
    if not problems:
        yield Finding(name="config", state="ok", detail=f"{named} is good")
    for problem in problems:
        where = f"{problem.file}:{problem.line}: {problem.message}"
        yield Finding(name="config", state="fail", detail=where, remedy=problem.remedy)


def _clock() -> Iterator[Finding]:
    from lucius.runtime.nature import now_ms
    from lucius.wire.timestamps import iso

    now = now_ms()
    if now > _YEAR_2025_MS:
        yield Finding(name="clock", state="ok", detail=iso(now))
    else:
        remedy = "Set the clock: every deadline is judged by it."
        yield Finding(name="clock", state="fail", detail=iso(now), remedy=remedy)


def _server(session: Session) -> Iterator[Finding]:
    """A Lucius that answers, or at least a port that one could take."""
    from lucius.sdk import admin

    try:
        parts = session.client.raw(admin.ready()).get("components", {})
    except LuciusError as error:
        if error.code != "SERVER_UNREACHABLE":
            remedy = "Look at its log; name another with --url or LUCIUS_URL."
            yield Finding(name="server", state="fail", detail=error.message, remedy=remedy)
            return
        yield Finding(
            name="server",
            state="warn",
            detail=f"nothing at {session.url}",
            remedy="Start one with `lucius up`.",
        )
        yield from _port(session.url)
        return
    yield Finding(name="server", state="ok", detail=f"{session.url} is ready")
    for part, said in parts.items():
        if said != "ok":
            remedy = "It goes on taking jobs; docs/operations.md says what to look at."
            yield Finding(name=part, state="warn", detail=said.removeprefix("missed: "), remedy=remedy)


def _port(url: str) -> Iterator[Finding]:
    from lucius.security.loopback import is_loopback

    parts = urlsplit(url)
    if not is_loopback(parts.hostname or ""):
        return
    family = socket.AF_INET6 if ":" in (parts.hostname or "") else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((parts.hostname, parts.port or 80))
        except OSError as error:
            remedy = "Choose another with `lucius up --port`."
            yield Finding(name="port", state="warn", detail=f"{parts.port}: {error.strerror}", remedy=remedy)
            return
    yield Finding(name="port", state="ok", detail=f"{parts.port} is free")


def _access(data: Path) -> Iterator[Finding]:
    """Who may call. Looks only at a keyring that is there: a question makes no files."""
    from lucius.runtime.offline import keyring

    keys = []
    if (data / "keys.db").exists():
        with keyring(data) as ring:
            keys = ring.list()
    live = sum(key.revoked_at is None for key in keys)
    if live:
        yield Finding(name="access", state="ok", detail=f"{live} of {len(keys)} keys may call")
    elif keys:
        remedy = "Make one with `lucius keys create`."
        yield Finding(
            name="access", state="warn", detail="all keys are revoked: nobody may call", remedy=remedy
        )
    else:
        remedy = "Fine on your own machine; for others make keys with `lucius keys create`."
        yield Finding(
            name="access", state="warn", detail="open: anybody on this machine, nobody else", remedy=remedy
        )
