"""`lifebook schedules …` and `lifebook hooks …`: what starts runs by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lucius.entrypoints.cli.asking import agreed
from lucius.entrypoints.cli.commands.lifebook_options import (
    Input,
    InputFile,
    User,
    Workspace,
    advised,
    input_of,
    user_of,
    workspace_of,
)
from lucius.entrypoints.cli.endings import Ending
from lucius.entrypoints.cli.options import Yes
from lucius.entrypoints.cli.session import Session, remote

if TYPE_CHECKING:
    from lucius.sdk.call import Call

Workflow = Annotated[str, typer.Argument(metavar="WORKFLOW", help="As `lucius lifebook workflows` names it.")]
Cron = Annotated[
    str,
    typer.Argument(metavar="CRON", help="Minute, hour, day, month, weekday, in UTC: '30 6 * * MON-FRI'."),
]
ScheduleId = Annotated[str, typer.Argument(metavar="ID", help="The schedule's id.", show_default=False)]
HookId = Annotated[str, typer.Argument(metavar="ID", help="The hook's id.", show_default=False)]
_SCHEDULES, _HOOKS = "lucius lifebook schedules list", "lucius lifebook hooks list"


@remote
def add_schedule(
    session: Session,
    workflow: Workflow,
    cron: Cron,
    *,
    workspace: Workspace = None,
    user: User = None,
    given: Input = None,
    input_file: InputFile = None,
) -> None:
    """Run a workflow again and again, at the times of a cron expression."""
    from lucius.sdk import lifebook

    asked = _asked(workflow, user, input_of(given, input_file)) | {"cron": cron}
    _show_schedule(session, session.client.raw(lifebook.make_schedule(workspace_of(workspace), asked)))


@remote
def list_schedules(session: Session, *, workspace: Workspace = None) -> None:
    """List the schedules of a workspace."""
    from rich.text import Text

    from lucius.entrypoints.cli.show.lifebook_triggers import schedules as table
    from lucius.runtime.nature import now_ms
    from lucius.sdk import lifebook

    document = session.client.raw(lifebook.schedules(workspace_of(workspace)))
    found = document.get("schedules", [])
    empty = Text(f"No schedules in {workspace_of(workspace)}.", style="dim")
    session.show(document, table(found, now_ms(), session.out.width) if found else empty)


@remote
def pause_schedule(session: Session, schedule_id: ScheduleId) -> None:
    """Let a schedule start nothing until it is resumed."""
    from lucius.sdk import lifebook

    with advised("schedule", _SCHEDULES):
        _show_schedule(session, session.client.raw(lifebook.pause_schedule(schedule_id)))


@remote
def resume_schedule(session: Session, schedule_id: ScheduleId) -> None:
    """Go on with the next time from now; what was missed is not made up for."""
    from lucius.sdk import lifebook

    with advised("schedule", _SCHEDULES):
        _show_schedule(session, session.client.raw(lifebook.resume_schedule(schedule_id)))


@remote
def remove_schedule(session: Session, schedule_id: ScheduleId, *, yes: Yes = False) -> None:
    """Forget a schedule; the runs it started go on."""
    from lucius.sdk import lifebook

    _remove(session, "schedule", schedule_id, lifebook.remove_schedule, yes=yes, where=_SCHEDULES)


@remote
def add_hook(
    session: Session,
    workflow: Workflow,
    *,
    workspace: Workspace = None,
    user: User = None,
    given: Input = None,
    input_file: InputFile = None,
) -> None:
    """Make a URL that starts runs by signed requests; its secret is shown this once."""
    from lucius.entrypoints.cli.show.lifebook_triggers import new_hook, signed_call
    from lucius.sdk import lifebook

    asked = _asked(workflow, user, input_of(given, input_file))
    hook = session.client.raw(lifebook.make_hook(workspace_of(workspace), asked))
    if session.as_json:
        session.show(hook)
        return
    for part in (new_hook(hook, session.client.url), signed_call(hook, session.client.url)):
        session.out.print(part, soft_wrap=True)


@remote
def list_hooks(session: Session, *, workspace: Workspace = None) -> None:
    """List the hooks of a workspace, without their secrets."""
    from rich.text import Text

    from lucius.entrypoints.cli.show.lifebook_triggers import hooks as table
    from lucius.runtime.nature import now_ms
    from lucius.sdk import lifebook

    document = session.client.raw(lifebook.hooks(workspace_of(workspace)))
    found = document.get("hooks", [])
    empty = Text(f"No hooks in {workspace_of(workspace)}.", style="dim")
    session.show(document, table(found, now_ms()) if found else empty)


@remote
def remove_hook(session: Session, hook_id: HookId, *, yes: Yes = False) -> None:
    """Forget a hook; whoever calls it from now on is refused."""
    from lucius.sdk import lifebook

    _remove(session, "hook", hook_id, lifebook.remove_hook, yes=yes, where=_HOOKS)


def _asked(workflow: str, user: str | None, given: dict[str, Any]) -> dict[str, Any]:
    return {"workflow_id": workflow, "user_id": user_of(user), "input": given}


def _show_schedule(session: Session, schedule: dict[str, Any]) -> None:
    from rich.text import Text

    from lucius.entrypoints.cli.show.lifebook_triggers import due
    from lucius.runtime.nature import now_ms

    told = Text.assemble(("✓ ", "green"), ("schedule ", "bold"), str(schedule.get("schedule_id", "")))
    what = f"  {schedule.get('workflow_id')} at '{schedule.get('cron')}' (UTC)  "
    session.show(schedule, told, Text.assemble((what, "dim"), due(schedule, now_ms())))


def _remove(
    session: Session, what: str, name: str, call: Callable[[str], Call[Any]], *, yes: bool, where: str
) -> None:
    from rich.text import Text

    if not agreed(f"Remove the {what} {name} for good?", yes=yes):
        raise typer.Exit(Ending.REFUSED)
    with advised(what, where):
        session.client.raw(call(name))
    session.show(
        {f"{what}_id": name, "removed": True}, Text.assemble(("✓ ", "green"), f"{what} {name} removed.")
    )
