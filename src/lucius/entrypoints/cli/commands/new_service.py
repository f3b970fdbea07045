"""`new-service`: the project of a platform service, ready to be tested and changed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lucius.entrypoints.cli.commands.keys import AsJson
from lucius.entrypoints.cli.session import print_json


def new_service(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="Such as word-count: a-z 0-9 -", show_default=False)
    ],
    *,
    directory: Annotated[
        Path, typer.Option("--directory", metavar="DIR", help="Where its folder goes.")
    ] = Path(),
    step_type: Annotated[
        str | None,
        typer.Option("--step-type", metavar="TYPE", show_default=False,
                     help="What it serves; of word-count: WORD_COUNT."),
    ] = None,
    description: Annotated[
        str | None,
        typer.Option("--description", metavar="TEXT", help="One sentence about it.", show_default=False),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Also into a folder that is not empty; its files may be replaced."),
    ] = False,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Make the project of a new service: code, tests, protocol, Dockerfile. Its tests pass as generated."""
    from lucius.scaffold import make

    folder = make(name, directory, step_type=step_type, description=description, force=force)
    if as_json:
        print_json({"folder": str(folder)})
        return
    typer.echo(f"✓ {folder} is ready.")
    typer.echo(f"  cd {folder}")
    typer.echo("  make test        its tests pass; README.md says what to change")
