"""The reference services as worker processes of this Lucius: their commands and their credentials.

A credential is made at each start, is known to this process and its workers alone, is good for the steps
of one service, and ends with the process. It goes to the worker by the environment, never as an argument.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from lucius.runtime import nature, reference
from lucius.runtime.settings import Settings
from lucius.runtime.workers import Program, Workers
from lucius.security.keys import Grant, Minted, mint
from lucius.security.principal import Role

GRACE = 8.0
"""Seconds a worker has for its last words once its own time to drain is over."""
_MODULE = (sys.executable, "-P", "-m", "lucius.entrypoints.cli")
"""-P: a file in the current directory must not stand for a library."""

_SCRATCH = "scratch"
_OURS = {
    "LUCIUS_URL",
    "LUCIUS_API_KEY",
    "LUCIUS_SERVICE_URL",
    "LUCIUS_SERVICE_STORE",
    "LUCIUS_SERVICE_HEALTH",
}
"""Not handed on: a worker gets its own, and a port for health probes has room for one process only."""


def worker_keys() -> dict[str, Minted]:
    """One for each reference service, by its name."""
    return {
        name: mint(
            Grant(
                name=f"worker {name}",
                tenants=None,
                roles=frozenset({Role.SERVICE}),
                step_types=frozenset({step_type}),
            ),
            now=nature.now_ms(),
            token_bytes=nature.token_bytes,
        )
        for name, step_type in reference.STEP_TYPES.items()
    }


def workers(settings: Settings, root: Path, keys: Mapping[str, Minted]) -> Workers | None:
    """The processes, not started yet; None where the settings ask for no reference services."""
    if settings.services != "reference":
        return None
    stores = root.resolve() / "services"
    stores.mkdir(mode=0o700, parents=True, exist_ok=True)
    # What killed workers were reading: documents, which must not lie about.
    shutil.rmtree(stores / _SCRATCH, ignore_errors=True)
    (stores / _SCRATCH).mkdir(mode=0o700)
    programs = [
        Program(
            name=name,
            command=_command(settings, name, stores / f"{name}.db"),
            environment=_environment(settings, root, minted),
        )
        for name, minted in keys.items()
    ]
    return Workers(programs, patience=settings.drain_seconds + GRACE)


def _command(settings: Settings, name: str, store: Path) -> tuple[str, ...]:
    drain = str(settings.drain_seconds)
    options = ("--url", settings.local_url, "--store", str(store), "--drain-seconds", drain)
    return (*_MODULE, "service", name, "--until-eof", *options)


def _environment(settings: Settings, root: Path, minted: Minted) -> dict[str, str]:
    """Ours, so that `LUCIUS_SERVICE_*` reaches the workers; what is not said there is as it is here."""
    told = {
        "LUCIUS_SERVICE_LOG_LEVEL": settings.log_level,
        "LUCIUS_SERVICE_LOG_STYLE": settings.log_style,
        # A dead worker is replaced at once, on this machine: its successor need not doubt for long.
        "LUCIUS_SERVICE_CLAIM_SECONDS": "10",
        "LUCIUS_SERVICE_SCRATCH": str(root.resolve() / "services" / _SCRATCH),
    }
    if settings.otlp_endpoint is not None:
        told["LUCIUS_SERVICE_OTLP_ENDPOINT"] = settings.otlp_endpoint
    workspace = urlsplit(settings.workspace_uri(root))
    # Files of a configuration directory may allow further roots, for all or for one tenant.
    if settings.config is None and settings.files_root is not None and workspace.scheme == "file":
        places = (str(settings.files_root.resolve()), unquote(workspace.path))
        told["LUCIUS_SERVICE_FILES_ROOT"] = os.pathsep.join(places)
    inherited = {name: value for name, value in os.environ.items() if name not in _OURS}
    return told | inherited | {"LUCIUS_SERVICE_API_KEY": minted.text}
