"""`service`: one platform service in this process, until told to stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lucius.entrypoints.cli.options import DEFAULT_URL, SERVER_PANEL
from lucius.errors import Invalid

if TYPE_CHECKING:
    from lucius.sdk.serving.service import Service
    from lucius.sdk.serving.settings import ServiceSettings


def service(
    target: Annotated[
        str,
        typer.Argument(metavar="TARGET", show_default=False,
                       help="ocr, embedding or sis; or your own as package.module:name."),
    ],
    *,
    url: Annotated[
        str | None,
        typer.Option("--url", metavar="URL", rich_help_panel=SERVER_PANEL, show_default=False,
                     help=f"Where Lucius is: LUCIUS_URL, else {DEFAULT_URL}."),
    ] = None,
    key_file: Annotated[
        Path | None,
        typer.Option("--key-file", metavar="FILE", rich_help_panel=SERVER_PANEL, show_default=False,
                     help="A file with the API key; else LUCIUS_API_KEY."),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", metavar="N", min=1, show_default=False,
                     help="Steps worked on at the same time; the service's own number by default."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", metavar="PATH|URL", show_default=False,
                     help="Where it remembers what it has done; data/services/NAME.db by default."),
    ] = None,
    health: Annotated[
        str | None,
        typer.Option("--health", metavar="HOST:PORT", show_default=False,
                     help="Answer /healthz, /readyz and /metrics here; nowhere by default."),
    ] = None,
    drain_seconds: Annotated[
        float | None,
        typer.Option("--drain-seconds", metavar="S", min=0, show_default=False,
                     help="How long a stop waits for running work."),
    ] = None,
    until_eof: Annotated[
        bool, typer.Option("--until-eof", help="End at once when stdin ends: whoever started this is gone.")
    ] = False,
) -> None:  # fmt: skip
    """Run one service: take directives, do the work, report. SIGTERM or Ctrl-C finishes and stops."""
    given = {
        "url": url,
        "key": _key(key_file),
        "concurrency": concurrency,
        "store": store,
        "health": health,
        "drain_seconds": drain_seconds,
    }
    settings = _settings({name: value for name, value in given.items() if value is not None})
    found = _load(target)
    from lucius.sdk.serving.run import run
    from lucius.telemetry.logs import bound

    with bound(service=target):  # tells the lines of several services apart
        code = run(found, settings, until_eof=until_eof)
    raise typer.Exit(code)


def _load(target: str) -> Service[Any]:
    """The service of that name, or the one that `package.module:name` names."""
    from lucius.runtime.reference import TARGETS, require
    from lucius.sdk.serving.service import load

    if target in TARGETS:
        require()
    elif ":" not in target:
        message = f"{target!r} is none of {', '.join(TARGETS)}; name your own as package.module:name."
        raise Invalid(message, code="BAD_TARGET")
    return load(TARGETS.get(target, target))


def _settings(given: dict[str, Any]) -> ServiceSettings:
    """The environment's settings with the options on top; a wrong one is told like any other mistake."""
    from pydantic import ValidationError

    from lucius.sdk.serving.settings import ServiceSettings

    try:
        return ServiceSettings(**given)
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise Invalid(f"These settings do not work: {told}.", code="BAD_SETTINGS") from None


def _key(file: Path | None) -> str | None:
    from lucius.entrypoints.cli.session import Session

    return None if file is None else Session(key_file=file).key
