"""Settings of a service process: `LUCIUS_URL`, `LUCIUS_API_KEY`, and `LUCIUS_SERVICE_*` for the rest."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class ServiceSettings(BaseSettings):
    """Everything that can be set about one service process."""

    model_config = SettingsConfigDict(
        env_prefix="LUCIUS_SERVICE_", frozen=True, extra="ignore", populate_by_name=True
    )

    url: str = Field(
        default="http://127.0.0.1:8700",
        validation_alias=AliasChoices("LUCIUS_SERVICE_URL", "LUCIUS_URL", "url"),
    )
    """Where Lucius is."""
    key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("LUCIUS_SERVICE_API_KEY", "LUCIUS_API_KEY", "key")
    )
    """An API key with the role `service`; None while Lucius asks for none."""
    store: str | None = None
    """Where attempts are remembered: a path, `azure-table://…`, `s3://…`, `az://…`; None: below `data/`."""
    concurrency: int | None = Field(default=None, ge=1, le=10_000)
    """Attempts worked on at a time; None: what the service says."""
    prefetch: int = Field(default=16, ge=0, le=500)
    """Directives taken ahead at most; long work takes none ahead."""
    wait_seconds: float = Field(default=20.0, gt=0, le=30)
    """How long one request for directives may wait."""
    claim_seconds: float = Field(default=30.0, gt=0)
    """A process that was silent for so long counts as dead, and its attempts are reported."""
    drain_seconds: float = Field(default=25.0, ge=0)
    """How long a stop lets running work go on."""
    keep_days: float = Field(default=14.0, gt=0)
    """How long results are remembered."""
    health: str | None = Field(default=None, pattern=r"^(.*:)?\d{1,5}$")
    """`HOST:PORT` of `/healthz`, `/readyz` and `/metrics`; a bare port is on 127.0.0.1; None: nowhere."""
    files_root: str | None = None
    """Local files are read and written below these directories only (`:` between); None: anywhere."""
    scratch: Path | None = None
    """Where temporary files go; None: where the system puts them."""
    log_level: str = "info"
    """The least level that is written: debug, info, warning, error."""
    log_style: Literal["auto", "json", "console"] = "auto"
    """JSON lines or coloured text; auto: text on a terminal."""
    otlp_endpoint: str | None = None
    """Where traces go (OTLP over HTTP); None: where OpenTelemetry's own variables say, or nowhere."""

    def store_of(self, step_type: str) -> str:
        """Where the attempts of this service are remembered."""
        return self.store or str(Path("data") / "services" / f"{step_type.lower()}.db")

    @property
    def file_roots(self) -> list[Path]:
        """The directories that local files may lie in; none: all."""
        return [Path(part) for part in (self.files_root or "").split(os.pathsep) if part]

    @property
    def health_address(self) -> tuple[str, int] | None:
        """Where the probes listen."""
        if self.health is None:
            return None
        host, _, port = self.health.rpartition(":")
        return host or "127.0.0.1", int(port)
