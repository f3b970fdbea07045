"""`lifebook run`, `runs`, `show`, `watch`, `cancel`, `retry` and `workflows`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from lucius.entrypoints.cli.commands.lifebook_options import (
    Input,
    InputFile,
    RunId,
    Timeout,
    User,
    Workspace,
    advised,
    input_of,
    user_of,
    workspace_of,
)
from lucius.entrypoints.cli.endings import Ending, ending_of, tell
from lucius.entrypoints.cli.session import Session, remote
from lucius.errors import LuciusError

if TYPE_CHECKING:
    from lucius.sdk.lifebook_answers import Run

Key = Annotated[
    str | None,
    typer.Option("--key", metavar="KEY", show_default=False,
                 help="Idempotency key: the same key in a workspace is the same run."),
]  # fmt: skip
RunIds = Annotated[list[str], typer.Argument(metavar="JOB…", help="One or more runs.", show_default=False)]


@remote
def run(
    session: Session,
    workflow: Annotated[
        str, typer.Argument(metavar="WORKFLOW", help="As `lucius lifebook workflows` names it.")
    ],
    *,
    workspace: Workspace = None,
    user: User = None,
    given: Input = None,
    input_file: InputFile = None,
    key: Key = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Stay and show its progress.")] = True,
    timeout: Timeout = None,
) -> None:
    """Start a run and follow it: exit 0 if it completed, 1 if it died or was canceled."""
    from lucius.runtime.nature import new_id
    from lucius.sdk import lifebook

    request = {
        "workspace_id": workspace_of(workspace),
        "user_id": user_of(user),
        "workflow_id": workflow,
        "input": input_of(given, input_file),
        "idempotency_key": key or new_id(),  # an answer that is lost can be asked for again
    }
    document = session.client.raw(lifebook.create(request))
    _go_on(session, document, wait=wait, timeout=timeout)


@remote
def runs(
    session: Session,
    *,
    workspace: Workspace = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=200, help="At most so many.")] = 20,
    cursor: Annotated[
        str | None, typer.Option("--cursor", help="Where the last page ended.", show_default=False)
    ] = None,
) -> None:
    """List the runs of a workspace, newest first."""
    from rich.text import Text

    from lucius.entrypoints.cli.show.lifebook import listing
    from lucius.runtime.nature import now_ms
    from lucius.sdk import lifebook

    name = workspace_of(workspace)
    document = session.client.raw(lifebook.listing(name, limit=limit, cursor=cursor))
    found = document.get("jobs", [])
    empty = Text(f"No runs in {name}. `lucius lifebook run WORKFLOW` starts one.", style="dim")
    session.show(document, listing(found, now_ms(), session.out.width) if found else empty)
    if document.get("next_cursor") and not session.as_json:
        session.out.print(f"  more: --cursor {document['next_cursor']}", style="dim", soft_wrap=True)


@remote
def show(session: Session, job_id: RunId) -> None:
    """Show one run: its steps, its credits, and why it stands where it stands."""
    from lucius.entrypoints.cli.show.lifebook import sheet
    from lucius.runtime.nature import now_ms
    from lucius.sdk import lifebook

    call = lifebook.get(job_id)
    with advised():
        document = session.client.raw(call)
    session.show(document, sheet(call.read(document), now_ms()))


@remote
def watch(session: Session, job_id: RunId, *, timeout: Timeout = None) -> None:
    """Follow a run live until it is over; exit 1 if it died or was canceled."""
    from lucius.sdk import lifebook

    with advised():
        found = session.client.send(lifebook.get(job_id))
    _finish(session, found, timeout)


@remote
def cancel(
    session: Session,
    job_ids: RunIds,
    *,
    reason: Annotated[
        str | None, typer.Option("--reason", metavar="TEXT", help="Why.", show_default=False)
    ] = None,
) -> None:
    """Stop runs at once; what their steps have spent stays spent, the rest is free again."""
    from lucius.entrypoints.cli.show.lifebook_states import badge
    from lucius.sdk import lifebook

    answers, worst = [], Ending.OK
    for job_id in job_ids:
        try:
            with advised():
                answers.append(session.client.raw(lifebook.cancel(job_id, reason=reason)))
        except LuciusError as error:
            tell(error)
            worst = max(worst, ending_of(error))
            answers.append({"job_id": job_id, "error": {"code": error.code, "detail": error.message}})
        else:
            if not session.as_json:
                session.out.print(job_id, badge(str(answers[-1].get("status"))), sep="  ", soft_wrap=True)
    if session.as_json:
        session.show(answers[0] if len(answers) == 1 else {"jobs": answers})
    raise typer.Exit(worst)


@remote
def retry(
    session: Session,
    job_id: RunId,
    *,
    user: User = None,
    wait: Annotated[bool, typer.Option("--wait", "-w", help="Stay and show its progress.")] = False,
    timeout: Timeout = None,
) -> None:
    """Run one that has ended again, as a new run from its first step; asked twice, it is the same new run."""
    from lucius.sdk import lifebook

    with advised():
        document = session.client.raw(lifebook.retry(job_id, user=user_of(user)))
    _go_on(session, document, wait=wait, timeout=timeout)


@remote
def workflows(session: Session) -> None:
    """List what can be run: steps, and what they cost at most."""
    from lucius.entrypoints.cli.show.lifebook import workflows as table
    from lucius.sdk import lifebook

    document = session.client.raw(lifebook.workflows())
    session.show(document, table(document.get("workflows", [])))


def _go_on(session: Session, document: dict[str, Any], *, wait: bool, timeout: float | None) -> None:
    """Follow a run that was just made, or say where it can be found."""
    from lucius.sdk import lifebook

    found = lifebook.get("").read(document)
    if wait:
        _finish(session, found, timeout)
    else:
        started(session, document, found)


def started(session: Session, document: dict[str, Any], found: Run) -> None:
    """A run was made, and goes on without us."""
    from rich.text import Text

    origin = f"  retry of {found.retry_of}" if found.retry_of else ""
    held = f"  {found.credits_reserved:.2f} credits reserved" if found.credits_reserved else ""
    told = Text.assemble(
        ("✓ ", "green"), ("run ", "bold"), found.job_id, "  ", (f"{found.status}{held}{origin}", "dim")
    )
    session.show(document, told, Text(f"  lucius lifebook watch {found.job_id}", style="dim"))


def _finish(session: Session, found: Run, timeout: float | None) -> None:
    from lucius.entrypoints.cli.commands.lifebook_following import conclude, follow
    from lucius.runtime.nature import now_ms

    conclude(session, follow(session, found, timeout=timeout, now=now_ms()))
