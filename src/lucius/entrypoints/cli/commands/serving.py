"""`up`: one Lucius in this process, and its services beside it, until told to stop."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lucius.entrypoints.cli.options import Data
from lucius.errors import Unavailable

if TYPE_CHECKING:
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


def up(
    *,
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="H", show_default=False, help="Where to listen: 127.0.0.1."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="P", min=0, max=65535, show_default=False,
                     help="8700; 0 takes a free one."),
    ] = None,
    data: Data = None,
    services: Services = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="DIR", show_default=False,
                     help="Protocols, tenants and limits; the shipped protocols alone without it."),
    ] = None,
    files: Annotated[
        Path | None,
        typer.Option("--files", metavar="DIR", show_default=False,
                     help="file: references may name what lies below; . when serving this machine only."),
    ] = None,
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
        "services": services,
        "config": config,
        "files_root": files,
        "in_memory": in_memory or None,
        "echo_delay": echo_delay,
        "echo_failure_rate": echo_failure_rate,
    }
    from lucius.runtime.reference import require

    settings = _settings({name: value for name, value in given.items() if value is not None})
    check_port(settings.host, settings.port)
    if settings.services == "reference":
        require()
    if until_eof:
        _heed_eof()
    from lucius.runtime.lifecycle import run

    raise typer.Exit(run(settings, announce=_announce))


def _heed_eof() -> None:
    """Drain when stdin ends: whoever started this to show it is gone."""
    import os
    import signal
    import threading

    def watch() -> None:
        while os.read(0, 4096):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent", daemon=True).start()


def _settings(given: dict[str, Any]) -> Settings:
    """The environment's settings with the options on top."""
    from lucius.runtime.offline import settings
    from lucius.runtime.reference import installed
    from lucius.security.loopback import is_loopback

    found = settings(**given)
    filled: dict[str, Any] = {}
    if "services" not in found.model_fields_set:
        filled["services"] = "reference" if installed() else "echo"
    if found.files_root is None and is_loopback(found.host):
        filled["files_root"] = Path.cwd()
    if found.port == 0:
        filled["port"] = free_port(found.host)
    return settings(**(given | filled)) if filled else found


def check_port(host: str, port: int) -> None:
    """Raise `Unavailable` unless this address can be listened on: better said now than after the start."""
    import socket

    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        message = f"{host} port {port} cannot be listened on: {error.strerror}; choose another with --port."
        raise Unavailable(message, code="ADDRESS_UNUSABLE") from None


def free_port(host: str = "127.0.0.1") -> int:
    """A port nobody listens on right now."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def _announce(lucius: Any, url: str) -> None:
    """Say where it is and what it does; logs follow."""
    from lucius.runtime.reference import REMEDY, installed

    settings = lucius.settings
    pretended = settings.services == "echo" and not installed()
    where = "memory only: jobs die with this process" if settings.in_memory else str(settings.data)
    lines = [
        f"Lucius {_version()} on {url}",
        f"  data      {where}",
        f"  services  {_SERVICES[settings.services]}{f'; for real ones {REMEDY}' if pretended else ''}",
        f"  files     {settings.files_root or 'file: references are refused'}",
        f"  try       {_TRY.get(settings.services, 'lucius submit report.pdf --wait')}{_elsewhere(url)}",
    ]
    if lucius.authenticator.open:
        lines.insert(1, "  access    open: anybody on this machine (lucius keys create)")
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()


def _elsewhere(url: str) -> str:
    from lucius.entrypoints.cli.options import DEFAULT_URL

    return "" if url == DEFAULT_URL else f" --url {url}"


def _version() -> str:
    from lucius import __version__

    return __version__
