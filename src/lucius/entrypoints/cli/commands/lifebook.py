"""`lucius lifebook …`: which command of the group is which function."""

from __future__ import annotations

import typer

from lucius.entrypoints.cli.commands import (
    lifebook_credits,
    lifebook_demo,
    lifebook_letters,
    lifebook_runs,
    lifebook_triggers,
    lifebook_working,
)

_RUNS, _CREDITS, _REPAIR, _STARTERS, _PLACES = "Runs", "Credits", "Repair", "What starts runs", "Processes"


def group() -> typer.Typer:
    """The commands of lifebook runs."""
    lifebook = typer.Typer(help="Lifebook runs: start, follow, pay, repair.", no_args_is_help=True)
    for name, command, panel in (
        ("demo", lifebook_demo.demo, _RUNS),
        ("run", lifebook_runs.run, _RUNS),
        ("runs", lifebook_runs.runs, _RUNS),
        ("show", lifebook_runs.show, _RUNS),
        ("watch", lifebook_runs.watch, _RUNS),
        ("cancel", lifebook_runs.cancel, _RUNS),
        ("retry", lifebook_runs.retry, _RUNS),
        ("workflows", lifebook_runs.workflows, _RUNS),
        ("wallet", lifebook_credits.wallet, _CREDITS),
        ("deposit", lifebook_credits.deposit, _CREDITS),
        ("dead-letters", lifebook_letters.dead_letters, _REPAIR),
        ("redrive", lifebook_letters.redrive, _REPAIR),
        ("discard", lifebook_letters.discard, _REPAIR),
        ("worker", lifebook_working.worker, _PLACES),
        ("provision", lifebook_working.provision, _PLACES),
    ):
        lifebook.command(name, rich_help_panel=panel)(command)
    schedules = typer.Typer(help="Runs at the times of a cron expression.", no_args_is_help=True)
    schedules.command("add")(lifebook_triggers.add_schedule)
    schedules.command("list")(lifebook_triggers.list_schedules)
    schedules.command("pause")(lifebook_triggers.pause_schedule)
    schedules.command("resume")(lifebook_triggers.resume_schedule)
    schedules.command("remove")(lifebook_triggers.remove_schedule)
    hooks = typer.Typer(help="Runs by signed requests of other systems.", no_args_is_help=True)
    hooks.command("add")(lifebook_triggers.add_hook)
    hooks.command("list")(lifebook_triggers.list_hooks)
    hooks.command("remove")(lifebook_triggers.remove_hook)
    lifebook.add_typer(schedules, name="schedules", rich_help_panel=_STARTERS)
    lifebook.add_typer(hooks, name="hooks", rich_help_panel=_STARTERS)
    return lifebook
