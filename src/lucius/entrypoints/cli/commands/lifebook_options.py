"""Options that lifebook commands share, and what stands for them when they are not given."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from lucius.errors import Invalid, NotFound

Workspace = Annotated[
    str | None,
    typer.Option("--workspace", metavar="W", show_default=False,
                 help="Whose run: LUCIUS_TENANT, else default. A workspace is a tenant."),
]  # fmt: skip
User = Annotated[
    str | None,
    typer.Option(
        "--user", metavar="U", show_default=False, help="Who starts it; your login name if not said."
    ),
]
Input = Annotated[
    list[str] | None,
    typer.Option("--input", metavar="NAME=VALUE", show_default=False,
                 help="For the steps; repeatable. A value that reads as JSON is taken as such."),
]  # fmt: skip
InputFile = Annotated[
    Path | None,
    typer.Option("--input-file", metavar="FILE", show_default=False,
                 help="A JSON object for the steps; - for stdin. --input wins."),
]  # fmt: skip
RunId = Annotated[str, typer.Argument(metavar="JOB", help="The run's job_id.", show_default=False)]
Timeout = Annotated[
    float | None,
    typer.Option("--timeout", metavar="S", min=0, show_default=False,
                 help="Wait no longer than this; exit 4."),
]  # fmt: skip


def workspace_of(given: str | None) -> str:
    """The workspace that was named, or the usual one."""
    return given or os.environ.get("LUCIUS_TENANT") or "default"


def user_of(given: str | None) -> str:
    """The user that was named, or whoever is logged in."""
    import getpass

    try:
        return given or getpass.getuser()
    except (KeyError, OSError):  # a container may run as a number without a name
        return "cli"


def input_of(pairs: list[str] | None, file: Path | None) -> dict[str, Any]:
    """What the steps are given: the file's object with the single values on top."""
    found = {} if file is None else _object(file)
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        if not equals or not name:
            raise Invalid(f"--input takes NAME=VALUE, not {pair!r}.", code="BAD_PAYLOAD")
        found[name] = _value(text)
    return found


@contextmanager
def advised(what: str = "run", where: str = "lucius lifebook runs") -> Iterator[None]:
    """What is not there is told with the command that lists what is."""
    try:
        yield
    except NotFound as error:
        if error.code != "NOT_FOUND":
            raise
        message = f"{error.message} `{where}` lists what there is."
        raise NotFound(message, code=f"NO_SUCH_{what.upper()}") from None


def _object(file: Path) -> dict[str, Any]:
    import msgspec

    try:
        text = sys.stdin.read() if str(file) == "-" else file.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{file} cannot be read: {error}.", code="FILE_UNREADABLE") from None
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise Invalid(f"{file} must hold one JSON object: {error}.", code="BAD_JSON") from None


def _value(text: str) -> Any:
    import msgspec

    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
