"""`dead-letters`, `lanes` and `protocols`: for people who run Lucius."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from lucius.entrypoints.cli.asking import agreed
from lucius.entrypoints.cli.endings import Ending, complain
from lucius.entrypoints.cli.options import Yes
from lucius.entrypoints.cli.session import Session, print_json, remote

Tenant = Annotated[
    str | None, typer.Option("--tenant", metavar="TENANT", help="Only of this tenant.", show_default=False)
]
Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="At most so many.")]


@remote
def dead_letters(session: Session, *, tenant: Tenant = None, limit: Limit = 50) -> None:
    """List jobs that failed for good, newest first."""
    from rich.text import Text

    from lucius.entrypoints.cli.show.operating import dead_letters as table
    from lucius.runtime.nature import now_ms
    from lucius.sdk import admin

    document = session.client.raw(admin.dead_letters(tenant_id=tenant, limit=limit))
    letters = document.get("dead_letters", [])
    empty = Text("No dead letters.", style="dim")
    session.show(document, table(letters, now_ms()) if letters else empty)


@remote
def redrive(
    session: Session,
    job_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID…]", help="Which ones.", show_default=False)
    ] = None,
    *,
    everything: Annotated[bool, typer.Option("--all", help="All that nobody has redriven yet.")] = False,
    tenant: Tenant = None,
    yes: Yes = False,
) -> None:
    """Run dead jobs again, as new jobs that start at the failed step."""
    from lucius.entrypoints.cli.commands.control import ask
    from lucius.sdk import admin

    if bool(job_ids) == everything:
        complain("Name the jobs to redrive, or say --all.")
        raise typer.Exit(Ending.USAGE)
    wanted = list(job_ids or _undriven(session, tenant))
    if everything and wanted and not agreed(f"Redrive {len(wanted)} dead jobs?", yes=yes):
        raise typer.Exit(Ending.REFUSED)
    ask(session, wanted, admin.redrive, many=everything)


@remote
def lanes(
    session: Session,
    tenant: Annotated[str, typer.Argument(metavar="TENANT", help="Whose lane.", show_default=False)],
    doc: Annotated[
        str | None, typer.Argument(metavar="[DOC]", help="And of which document (BURST).", show_default=False)
    ] = None,
) -> None:
    """Show which lane a tenant's messages take, and what waits there."""
    from lucius.entrypoints.cli.show.operating import lanes as sheet
    from lucius.sdk import admin

    document = session.client.raw(admin.lanes(tenant, doc))
    session.show(document, sheet(document))


@remote
def protocols(session: Session) -> None:
    """List the protocols a Lucius knows."""
    from lucius.entrypoints.cli.show.operating import protocols as table
    from lucius.sdk import admin

    document = session.client.raw(admin.protocols())
    session.show(document, table(document["protocols"]))


def check_protocols(
    directory: Annotated[
        Path | None,
        typer.Argument(
            metavar="[DIR]", help="The configuration: LUCIUS_CONFIG, else ./config.", show_default=False
        ),
    ] = None,
    *,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document on stdout.")] = False,
) -> None:
    """Check a configuration directory; needs no server."""
    import os

    import msgspec

    from lucius.runtime.offline import check_configuration

    where = directory or Path(os.environ.get("LUCIUS_CONFIG") or "config")
    problems = check_configuration(where)
    if as_json:
        print_json({"directory": str(where), "ok": not problems, "problems": msgspec.to_builtins(problems)})
    else:
        for problem in problems:
            complain(str(problem))
        if not problems:
            typer.echo(f"✓ {where} is good.")
    raise typer.Exit(Ending.REFUSED if problems else Ending.OK)


def _undriven(session: Session, tenant: str | None) -> list[str]:
    from lucius.sdk import admin

    letters: list[dict[str, Any]] = []
    cursor: str | None = None
    while True:
        page = session.client.raw(admin.dead_letters(tenant_id=tenant, limit=100, cursor=cursor))
        letters += page.get("dead_letters", [])
        cursor = page.get("next_cursor")
        if not cursor:
            return [str(one["jobId"]) for one in letters if not one.get("redriven_as")]
