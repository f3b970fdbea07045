"""`verify`, `doctor` and `version`: whether everything is as it should be."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lucius.entrypoints.cli.commands.keys import AsJson, directory
from lucius.entrypoints.cli.endings import Ending
from lucius.entrypoints.cli.options import Data
from lucius.entrypoints.cli.session import Session, console, print_json, printable, remote
from lucius.errors import NotFound


def verify(
    ledger: Annotated[
        Path | None, typer.Argument(metavar="[LEDGER_FILE]", help="One file alone.", show_default=False)
    ] = None,
    *,
    data: Data = None,
    as_json: AsJson = False,
) -> None:
    """Check the promises that ledger and lifebook runs can show, live or stopped; exit 1 if one is broken."""
    from lucius.entrypoints.cli.show.verdict import lifebook_verdict, verdict
    from lucius.runtime.offline import lifebook_in, verify_ledger, verify_lifebook

    path = ledger or directory(data) / "ledger.db"
    runs = lifebook_in(path.parent) if ledger is None or ledger.name == "lifebook.db" else None
    document: dict[str, Any] = {"ok": True}
    if path.is_file() and path != runs:
        document = _document(verify_ledger(path, progress=_counter()))
    elif runs is None:
        message = f"There is no ledger at {path}; name its directory with --data, or the file itself."
        raise NotFound(message, code="NO_LEDGER")
    if runs is not None:
        document["lifebook"] = found = _document(verify_lifebook(runs))
        document["ok"] = document["ok"] and found["ok"]
    if as_json:
        print_json(document)
    else:
        shown = printable(document)
        if "path" in document:
            console().print(verdict(shown))
        if runs is not None:
            console().print(lifebook_verdict(shown["lifebook"]))
    raise typer.Exit(Ending.OK if document["ok"] else Ending.REFUSED)


def _document(report: Any) -> dict[str, Any]:
    import msgspec

    document: dict[str, Any] = msgspec.to_builtins(report)
    return document | {"ok": report.ok}


def _counter() -> Callable[[int, int], None] | None:
    """Counts jobs on a terminal's stderr: a large ledger takes a while."""
    if not sys.stderr.isatty():
        return None

    def count(done: int, total: int) -> None:
        sys.stderr.write(f"\r  {done:,} of {total:,} jobs" if done < total else "\r\x1b[2K")
        sys.stderr.flush()

    return count


@remote
def doctor(
    session: Session,
    *,
    data: Data = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="DIR", help="The configuration: LUCIUS_CONFIG.", show_default=False),
    ] = None,
) -> None:
    """Look at everything Lucius needs; exit 1 if something would stop it."""
    from lucius.entrypoints.cli.examination import examine
    from lucius.entrypoints.cli.show.verdict import findings as table

    findings = examine(session, directory(data), config)
    failed = any(one.state == "fail" for one in findings)
    document: dict[str, Any] = {"ok": not failed, "findings": [one.document() for one in findings]}
    session.show(document, table(findings))
    raise typer.Exit(Ending.REFUSED if failed else Ending.OK)


def version(*, as_json: AsJson = False) -> None:
    """Say which Lucius this is."""
    import platform

    from lucius import __version__

    if as_json:
        print_json({"lucius": __version__, "python": platform.python_version()})
    else:
        typer.echo(f"lucius {__version__} (Python {platform.python_version()})")
