"""Options that many commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SERVER_PANEL = "Server and output"
DEFAULT_URL = "http://127.0.0.1:8700"

Url = Annotated[
    str | None,
    typer.Option("--url", metavar="URL", help=f"Where Lucius is: LUCIUS_URL, else {DEFAULT_URL}.",
                 rich_help_panel=SERVER_PANEL, show_default=False),
]  # fmt: skip
KeyFile = Annotated[
    Path | None,
    typer.Option("--key-file", metavar="FILE", help="A file with the API key; else LUCIUS_API_KEY.",
                 rich_help_panel=SERVER_PANEL, show_default=False),
]  # fmt: skip
AsJson = Annotated[
    bool,
    typer.Option("--json", help="One JSON document on stdout, for programs.", rich_help_panel=SERVER_PANEL),
]

JobId = Annotated[str, typer.Argument(metavar="ID", help="The job's id.", show_default=False)]
JobIds = Annotated[list[str], typer.Argument(metavar="ID…", help="One or more job ids.", show_default=False)]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="The data directory: LUCIUS_DATA, else ./data.",
                 show_default=False),
]  # fmt: skip
Temporal = Annotated[
    str | None,
    typer.Option("--temporal", metavar="HOST:PORT", show_default=False,
                 help="Where Temporal is: LUCIUS_TEMPORAL_ADDRESS, else 127.0.0.1:7233."),
]  # fmt: skip
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
