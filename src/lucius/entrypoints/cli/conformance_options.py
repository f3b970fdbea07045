"""What `lucius conformance` can be told, option by option."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_EXAMPLES, _TIMES = "Examples of work", "Patience"

# fmt: off
Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="COMMAND", show_default=False,
                   help="Behind --: how to start it, which finds LUCIUS_URL and LUCIUS_API_KEY set."),
]
Http = Annotated[
    str | None,
    typer.Option("--http", metavar="URL", show_default=False,
                 help="Play Lucius on this address, e.g. http://127.0.0.1:8799 (port 0: any)."),
]
Module = Annotated[
    str | None,
    typer.Option("--module", metavar="TARGET", show_default=False,
                 help="Test package.module:service, started as `lucius service` does."),
]
StepType = Annotated[
    str | None,
    typer.Option("--step-type", metavar="T", rich_help_panel=_EXAMPLES, show_default=False,
                 help="The step type to test; by default the one the service asks for."),
]
Payload = Annotated[
    str | None,
    typer.Option("--payload", metavar="JSON|@FILE", rich_help_panel=_EXAMPLES, show_default=False,
                 help="A payload it can work on; {} by default."),
]
BadPayload = Annotated[
    str | None,
    typer.Option("--bad-payload", metavar="JSON|@FILE", rich_help_panel=_EXAMPLES, show_default=False,
                 help="A payload it must refuse."),
]
AnyPayload = Annotated[
    bool, typer.Option("--any-payload", rich_help_panel=_EXAMPLES, help="It takes every payload.")
]
SlowPayload = Annotated[
    str | None,
    typer.Option("--slow-payload", metavar="JSON|@FILE", rich_help_panel=_EXAMPLES, show_default=False,
                 help="A payload that keeps it busy for about two leases."),
]
Input = Annotated[
    str | None,
    typer.Option("--input", metavar="FILE|URI", rich_help_panel=_EXAMPLES, show_default=False,
                 help="A document it can work on; a small text by default."),
]
SlowInput = Annotated[
    str | None,
    typer.Option("--slow-input", metavar="FILE|URI", rich_help_panel=_EXAMPLES, show_default=False,
                 help="A document that keeps it busy for about two leases."),
]
AnyInput = Annotated[
    bool, typer.Option("--any-input", rich_help_panel=_EXAMPLES, help="It does not read its input.")
]
HonoursCancel = Annotated[
    bool,
    typer.Option("--honours-cancel", rich_help_panel=_EXAMPLES, help="It stops when a job is cancelled."),
]
Sheet = Annotated[
    Path | None,
    typer.Option("--with", metavar="FILE.yaml", rich_help_panel=_EXAMPLES, show_default=False,
                 help="All of these in one file, by their names: payload, slow_payload, …"),
]
AckWithin = Annotated[
    float | None,
    typer.Option("--ack-within", metavar="S", rich_help_panel=_TIMES, show_default="5",
                 help="Seconds until the ACK."),
]
WorkWithin = Annotated[
    float | None,
    typer.Option("--work-within", metavar="S", rich_help_panel=_TIMES, show_default="30",
                 help="Seconds until a RESULT."),
]
DrainWithin = Annotated[
    float | None,
    typer.Option("--drain-within", metavar="S", rich_help_panel=_TIMES, show_default="30",
                 help="Seconds from SIGTERM to the end."),
]
Lease = Annotated[
    float | None,
    typer.Option("--lease", metavar="S", rich_help_panel=_TIMES, show_default="3",
                 help="The lease of slow work, in seconds."),
]
Cases = Annotated[
    list[str] | None,
    typer.Option("--case", metavar="NAME", show_default=False, help="Only this case; may be repeated."),
]
Pid = Annotated[
    str | None,
    typer.Option("--pid", metavar="PID|FILE", show_default=False,
                 help="Without COMMAND: the process to end and to kill, or a file with its number."),
]
Junit = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", show_default=False, help="Write a JUnit XML file too."),
]
AllowUnjudged = Annotated[
    bool, typer.Option("--allow-unjudged", help="Cases that could not be tried are no failure.")
]
