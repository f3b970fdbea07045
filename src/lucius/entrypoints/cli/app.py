"""The program: its commands, and how errors become sentences and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import typer

from lucius.entrypoints.cli import options
from lucius.entrypoints.cli.commands import (
    checking,
    conformance,
    control,
    demo,
    keys,
    lifebook,
    looking,
    new_service,
    operating,
    output,
    service,
    serving,
    submitting,
    temporal,
)
from lucius.entrypoints.cli.endings import Ending, complain, tell
from lucius.errors import LuciusError

_START, _JOBS, _RUN, _TEMPORAL = "Start", "Jobs", "Run and repair", "Processes of a Lucius on Temporal"

app = typer.Typer(
    name="lucius",
    help="Durable document jobs: submit, follow, understand, repair.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _root(
    context: typer.Context,
    *,
    url: options.Url = None,
    key_file: options.KeyFile = None,
    as_json: options.AsJson = False,
) -> None:
    context.obj = {"url": url, "key_file": key_file, "as_json": as_json}


def _group(name: str, text: str) -> typer.Typer:
    group = typer.Typer(help=text, no_args_is_help=True)
    app.add_typer(group, name=name, rich_help_panel=_RUN)
    return group


for _name, _command, _panel in (
    ("demo", demo.demo, _START),
    ("up", serving.up, _START),
    ("new-service", new_service.new_service, _START),
    ("service", service.service, _START),
    ("conformance", conformance.conformance, _START),
    ("api", serving.api, _TEMPORAL),
    ("invoker", temporal.invoker, _TEMPORAL),
    ("temporal-worker", temporal.temporal_worker, _TEMPORAL),
    ("doctor", checking.doctor, _START),
    ("version", checking.version, _START),
    ("submit", submitting.submit, _JOBS),
    ("plan", submitting.plan, _JOBS),
    ("jobs", looking.jobs, _JOBS),
    ("job", looking.job, _JOBS),
    ("watch", looking.watch, _JOBS),
    ("events", looking.events, _JOBS),
    ("output", output.output, _JOBS),
    ("explain", looking.explain, _JOBS),
    ("cancel", control.cancel, _JOBS),
    ("pause", control.pause, _JOBS),
    ("resume", control.resume, _JOBS),
    ("retry", control.retry, _JOBS),
    ("lanes", operating.lanes, _RUN),
    ("verify", checking.verify, _RUN),
):
    app.command(_name, rich_help_panel=_panel)(_command)

_letters = _group("dead-letters", "Jobs that failed for good: list them, run them again.")
_letters.command("list")(operating.dead_letters)
_letters.command("redrive")(operating.redrive)
_recipes = _group("protocols", "The recipes jobs are made from.")
_recipes.command("list")(operating.protocols)
_recipes.command("check")(operating.check_protocols)
_keys = _group("keys", "API keys: who may call.")
_keys.command("create")(keys.create)
_keys.command("revoke")(keys.revoke)
_keys.command("list")(keys.listing)
app.add_typer(lifebook.group(), name="lifebook", rich_help_panel=_RUN)


def run(arguments: Sequence[str]) -> int:
    """Run one command; its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal that lacks a glyph is no reason to fail
    program = typer.main.get_command(app)
    try:
        ended = program.main(args=list(arguments), prog_name="lucius", standalone_mode=False)
        sys.stdout.flush()
    except LuciusError as error:
        return tell(error)
    except (KeyboardInterrupt, typer.Abort):
        sys.stderr.write("\n")
        return Ending.INTERRUPTED
    except typer.TyperException as error:
        return _misused(error)
    except OSError as error:
        return _unwritable(error)
    return int(ended) if isinstance(ended, int) else Ending.OK


def _misused(error: typer.TyperException) -> int:
    """Told what is wrong with the command line, and where its help is."""
    context = getattr(error, "ctx", None)
    message = error.format_message()
    if not message:  # a group without a command: its help was printed
        return Ending.USAGE
    complain(message)
    if context is not None:
        sys.stderr.write(f"  {context.command_path} --help shows how it is used.\n")
    return error.exit_code


def _unwritable(error: OSError) -> int:
    """The output, or another file, could not be written; a reader who has heard enough is no error."""
    import os

    # What is still in the buffer goes nowhere, or the interpreter would stumble over it at its end.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return Ending.OK
    complain(f"{error.filename}: {error.strerror}." if error.filename else f"{error}.")
    return Ending.REFUSED
