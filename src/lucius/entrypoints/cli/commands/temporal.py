"""`invoker` and `temporal-worker`: the other processes of a Lucius on Temporal, until told to stop."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lucius.entrypoints.cli.addresses import check_port, free_port
from lucius.entrypoints.cli.options import Data, Temporal

if TYPE_CHECKING:
    from lucius.runtime.settings import Settings


def invoker(
    *,
    host: Annotated[
        str | None,
        typer.Option("--host", metavar="H", show_default=False, help="Where to listen: 127.0.0.1."),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option("--port", metavar="P", min=0, max=65535, show_default=False,
                     help="8701; 0 takes a free one."),
    ] = None,
    data: Data = None,
    temporal: Temporal = None,
    api: Annotated[
        str | None,
        typer.Option("--api", metavar="URL", show_default=False,
                     help="Where services report to: LUCIUS_PUBLIC_URL, else http://127.0.0.1:8700."),
    ] = None,
) -> None:  # fmt: skip
    """Run an invoker: it writes jobs, sends directives, reads replies. Any number on one --data."""
    given = {
        "invoker_host": host,
        "invoker_port": port,
        "data": data,
        "temporal_address": temporal,
        "public_url": api,
    }
    settings = _settings(given)
    if settings.invoker_port == 0:
        settings = _settings(given | {"invoker_port": free_port(settings.invoker_host)})
    check_port(settings.invoker_host, settings.invoker_port)
    from lucius.runtime.lifecycle import run_invoker

    raise typer.Exit(run_invoker(settings, announce=_announce))


def temporal_worker(
    *,
    data: Data = None,
    temporal: Temporal = None,
    invoker: Annotated[
        str | None,
        typer.Option("--invoker", metavar="URL", show_default=False,
                     help="Where invokers are, with commas between: LUCIUS_INVOKER_URL, "
                          "else http://127.0.0.1:8701."),
    ] = None,
    until_eof: Annotated[
        bool, typer.Option("--until-eof", help="End at once when stdin ends: whoever started this is gone.")
    ] = False,
) -> None:  # fmt: skip
    """Run a temporal worker: it drives workflows and asks invokers. Any number, anywhere."""
    settings = _settings({"data": data, "temporal_address": temporal, "invoker_url": invoker})
    if settings.temporal_worker_health is not None:
        probes, _, probed = settings.temporal_worker_health.rpartition(":")
        check_port(probes.strip("[]"), int(probed), remedy="LUCIUS_TEMPORAL_WORKER_HEALTH")
    from lucius.runtime.temporal_worker import run_worker
    from lucius.telemetry.logs import bound

    with bound(service="temporal-worker"):  # tells its lines apart where several processes write
        code = run_worker(settings, until_eof=until_eof)
    raise typer.Exit(code)


def _settings(given: dict[str, Any]) -> Settings:
    """The environment's settings with the options on top; without the extra one sentence."""
    from lucius.runtime.offline import settings
    from lucius.runtime.temporal_address import USUAL, require_temporal

    require_temporal()
    found = settings(engine="temporal", **given)
    if found.temporal_address is None:
        found = settings(engine="temporal", **given | {"temporal_address": USUAL})
    return found


def _announce(process: Any, url: str) -> None:
    settings = process.settings
    lines = [
        f"Lucius invoker on {url}",
        f"  data      {settings.data}",
        f"  temporal  {settings.temporal_address}, namespace {settings.temporal_namespace}",
        f"  callbacks {settings.base_url} (LUCIUS_PUBLIC_URL)",
    ]
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()
