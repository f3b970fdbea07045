"""The temporal worker as a child of `lucius up`: its command, and what it must know."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from lucius.runtime.invoker_token import invoker_token
from lucius.runtime.workers import Program

if TYPE_CHECKING:
    from lucius.runtime.secrets import Secrets
    from lucius.runtime.settings import Settings

NAME = "temporal-worker"
_NOT_ITS = {
    "LUCIUS_API_KEY", "LUCIUS_SERVICE_API_KEY", "LUCIUS_URL", "LUCIUS_INVOKER_URL", "LUCIUS_TEMPORAL_UI_PORT",
}  # fmt: skip


def worker_program(settings: Settings, address: str, secrets: Secrets) -> Program:
    """One worker that asks our own invoker. `address`: where Temporal is."""
    inherited = {name: value for name, value in os.environ.items() if name not in _NOT_ITS}
    told = {
        "LUCIUS_ENGINE": "temporal",
        "LUCIUS_TEMPORAL_ADDRESS": address,
        "LUCIUS_TEMPORAL_NAMESPACE": settings.temporal_namespace,
        "LUCIUS_TEMPORAL_TASK_QUEUE": settings.temporal_task_queue,
        "LUCIUS_INVOKER_HOST": settings.invoker_host,
        "LUCIUS_INVOKER_PORT": str(settings.invoker_port),
        "LUCIUS_INVOKER_TOKEN": invoker_token(settings, secrets.invoker),
        "LUCIUS_DRAIN_SECONDS": str(settings.drain_seconds),
        "LUCIUS_LOG_LEVEL": settings.log_level,
        "LUCIUS_LOG_STYLE": settings.log_style,
    }
    if settings.otlp_endpoint is not None:
        told["LUCIUS_OTLP_ENDPOINT"] = settings.otlp_endpoint
    # -P: a file in the current directory must not stand for a library.
    command = (sys.executable, "-P", "-m", "lucius.entrypoints.cli", NAME, "--until-eof")
    return Program(name=NAME, command=command, environment=inherited | told)
