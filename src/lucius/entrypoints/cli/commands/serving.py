"""`up` and `api`: a Lucius in this process, with or without all that belongs to it, until told to stop."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lucius.entrypoints.cli.addresses import check_port, free_port, heed_eof
from lucius.entrypoints.cli.options import Data, Temporal

if TYPE_CHECKING:
    from lucius.runtime.bootstrap import Role
    from lucius.runtime.settings import Settings

_ECHO = "Echo services"
_SERVICES = {
    "reference": "reference: OCR, EMBEDDING and SIS, each in a process of its own",
    "echo": "echo (they only pretend to work)",
    "none": "none: jobs wait for yours",
}
_TRY = {"none": "lucius service package.module:name"}

Services = Annotated[
    str | None,
    typer.Option("--services", metavar="reference|echo|none", show_default=False,
                 help="reference: real OCR, EMBEDDING and SIS in worker processes, the default if the "
                      "extra is installed; echo plays every service; none waits for others."),
]  # fmt: skip
EchoDelay = Annotated[
    float | None,
    typer.Option("--echo-delay", metavar="S", min=0, rich_help_panel=_ECHO, show_default=False,
                 help="Seconds each step takes."),
]  # fmt: skip
EchoFailureRate = Annotated[
    float | None,
    typer.Option("--echo-failure-rate", metavar="R", min=0, max=1, rich_help_panel=_ECHO,
                 show_default=False, help="Share of attempts that fail and are retried."),
]  # fmt: skip

Engine = Annotated[
    str | None,
    typer.Option("--engine", metavar="outbox|temporal", show_default=False,
                 help="What drives jobs: outbox, which needs nothing else, is the default."),
]  # fmt: skip
Host = Annotated[
    str | None,
    typer.Option("--host", metavar="H", show_default=False, help="Where to listen: 127.0.0.1."),
]
Port = Annotated[
    int | None,
    typer.Option("--port", metavar="P", min=0, max=65535, show_default=False,
                 help="8700; 0 takes a free one."),
]  # fmt: skip
Config = Annotated[
    Path | None,
    typer.Option("--config", metavar="DIR", show_default=False,
                 help="Protocols, tenants and limits; the shipped protocols alone without it."),
]  # fmt: skip
Files = Annotated[
    Path | None,
    typer.Option("--files", metavar="DIR", show_default=False,
                 help="file: references may name what lies below; . when serving this machine only."),
]  # fmt: skip


def up(
    *,
    host: Host = None,
    port: Port = None,
    data: Data = None,
    engine: Engine = None,
    services: Services = None,
    config: Config = None,
    files: Files = None,
    in_memory: Annotated[
        bool, typer.Option("--in-memory", help="Keep nothing; jobs die with the process.")
    ] = False,
    until_eof: Annotated[bool, typer.Option("--until-eof", hidden=True)] = False,
    echo_delay: EchoDelay = None,
    echo_failure_rate: EchoFailureRate = None,
) -> None:  # fmt: skip
    """Run Lucius, and its services beside it, until Ctrl-C or SIGTERM: they drain it and stop."""
    given = {
        "host": host,
        "port": port,
        "data": data,
        "engine": engine,
        "services": services,
        "config": config,
        "files_root": files,
        "in_memory": in_memory or None,
        "echo_delay": echo_delay,
        "echo_failure_rate": echo_failure_rate,
    }
    settings = _settings({name: value for name, value in given.items() if value is not None})
    if settings.engine == "temporal":
        from lucius.runtime.temporal_address import require_temporal

        require_temporal()
        check_port(settings.invoker_host, settings.invoker_port, remedy="LUCIUS_INVOKER_PORT")
        if settings.temporal_ui_port is not None and settings.temporal_address is None:
            check_port("127.0.0.1", settings.temporal_ui_port, remedy="LUCIUS_TEMPORAL_UI_PORT")
    if until_eof:
        heed_eof()
    _run(settings, "up")


def api(
    *,
    host: Host = None,
    port: Port = None,
    data: Data = None,
    engine: Engine = None,
    temporal: Temporal = None,
    services: Annotated[str | None, typer.Option("--services", hidden=True)] = None,
    config: Config = None,
    files: Files = None,
) -> None:
    """Run the HTTP API alone; with --engine temporal beside `lucius invoker` on the same --data."""
    given = {
        "host": host,
        "port": port,
        "data": data,
        "engine": engine,
        "temporal_address": temporal,
        "services": services,
        "config": config,
        "files_root": files,
    }
    found = {name: value for name, value in given.items() if value is not None}
    _run(_settings(found, services="none"), "api")


def _run(settings: Settings, role: Role) -> None:
    from lucius.runtime.reference import require

    check_port(settings.host, settings.port)
    if settings.services == "reference":
        require()
    from lucius.runtime.lifecycle import run

    raise typer.Exit(run(settings, role=role, announce=_announce))


def _settings(given: dict[str, Any], *, services: str | None = None) -> Settings:
    """The environment's settings with the options on top. `services`: who serves if nobody says so."""
    from lucius.runtime.offline import settings
    from lucius.runtime.reference import installed
    from lucius.security.loopback import is_loopback

    found = settings(**given)
    filled: dict[str, Any] = {}
    if "services" not in found.model_fields_set:
        filled["services"] = services or ("reference" if installed() else "echo")
    if found.files_root is None and is_loopback(found.host):
        filled["files_root"] = Path.cwd()
    if found.port == 0:
        filled["port"] = free_port(found.host)
    asked = "invoker_port" in found.model_fields_set and found.invoker_port
    if found.engine == "temporal" and services is None and not asked:
        filled["invoker_port"] = free_port(found.invoker_host)  # nobody but our own worker asks there
    return settings(**(given | filled)) if filled else found


def _announce(lucius: Any, url: str) -> None:
    """Say where it is and what it does; logs follow."""
    from lucius.runtime.reference import REMEDY, installed

    settings = lucius.settings
    pretended = settings.services == "echo" and not installed()
    where = "memory only: jobs die with this process" if settings.in_memory else str(settings.data)
    lines = [
        f"Lucius {_version()} on {url}",
        f"  data      {where}",
        f"  engine    {_engine(lucius)}",
        f"  services  {_SERVICES[settings.services]}{f'; for real ones {REMEDY}' if pretended else ''}",
        f"  runs      {_runs(settings)}",
        f"  files     {settings.files_root or 'file: references are refused'}",
        f"  try       {_TRY.get(settings.services, 'lucius submit report.pdf --wait')}{_elsewhere(url)}",
    ]
    if lucius.authenticator.open:
        lines.insert(1, "  access    open: anybody on this machine (lucius keys create)")
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()


def _runs(settings: Settings) -> str:
    if settings.lifebook_backend == "off":
        return "off: LUCIUS_LIFEBOOK_BACKEND"
    place = settings.lifebook_table
    if settings.lifebook_backend == "sqlite":
        place = "memory" if settings.in_memory else "lifebook.db"
    if settings.lifebook_concurrency == 0:
        return f"in {place}; nothing here executes them: lucius lifebook worker"
    return f"in {place}, {settings.lifebook_concurrency} at once: lucius lifebook workflows"


def _engine(lucius: Any) -> str:
    from lucius.runtime.temporal_address import address_of

    settings = lucius.settings
    if settings.engine == "outbox":
        return "outbox"
    if lucius.beside is None:
        return f"temporal at {address_of(settings)}; invoker at {', '.join(settings.invoker_urls)}"
    beside = lucius.beside
    if beside.server is None:
        return f"temporal at {beside.address}, with a worker of its own"
    pages = f", pages on http://127.0.0.1:{settings.temporal_ui_port}" if settings.temporal_ui_port else ""
    return f"temporal, with a server (--address {beside.address}{pages}) and a worker of its own"


def _elsewhere(url: str) -> str:
    from lucius.entrypoints.cli.options import DEFAULT_URL

    return "" if url == DEFAULT_URL else f" --url {url}"


def _version() -> str:
    from lucius import __version__

    return __version__
