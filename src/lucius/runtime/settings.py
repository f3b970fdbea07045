"""Settings: read once from the environment (`LUCIUS_*`) and the command line, then frozen.

What belongs to one room has a class of its own (`engine_settings.py`, `storage_settings.py`,
`lifebook_settings.py`); the names stay flat.
"""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from lucius.runtime.engine_settings import EngineSettings, is_base
from lucius.runtime.lifebook_settings import LifebookSettings
from lucius.runtime.storage_settings import StorageSettings


class Settings(EngineSettings, StorageSettings, LifebookSettings, BaseSettings):
    """Everything that can be set about one process."""

    # Without inputs in errors: some are secrets.
    model_config = SettingsConfigDict(
        env_prefix="LUCIUS_", frozen=True, extra="ignore", hide_input_in_errors=True
    )

    # where it listens and lives
    host: str = "127.0.0.1"
    """The address to listen on; without credentials only this machine's own are taken."""
    port: int = Field(default=8700, ge=0, le=65535)
    """The port; `lucius up --port 0` takes a free one."""
    data: Path = Path("data")
    """The directory of the ledger, the keys and the secrets."""
    config: Path | None = None
    """A directory with protocols/, tenants.yaml and lucius.yaml; None: what is shipped."""
    in_memory: bool = False
    """Keep nothing on disk. Must be asked for: accepted jobs die with the process."""
    public_url: str | None = None
    """Where services reach the callbacks; None: the address it listens on (for all: loopback)."""

    # jobs
    workspace_root: str | None = Field(default=None, pattern=r"^[a-z][a-z0-9+.-]*://[^\s]+$")
    """Where steps write; None: `workspace/` below the data directory (in memory: a temporary one)."""
    files_root: Path | None = None
    """`file:` references may name what lies below; None: `file:` is refused."""
    max_inflight_per_tenant: int | None = Field(default=None, ge=1)
    """Open jobs a tenant may have where no file sets `tenant_jobs`; None: no limit."""
    max_attempts: int | None = Field(default=None, ge=1, le=20)
    """Attempts a step may execute where its recipe does not set `max_execution_attempts`; None: 3. A job
    takes it along when it is submitted: it counts where the API runs."""
    step_result_timeout_seconds: float | None = Field(default=None, ge=0.01, le=604_800)
    """How long a step may be silent where its recipe does not set `lease`; None: 900. It counts where the API
    runs."""
    retention_days: float = Field(default=30.0, gt=0)
    """Jobs are forgotten this long after they ended."""
    sweep_seconds: float = Field(default=0.5, gt=0)
    """How often due jobs are looked for."""
    lock_seconds: float = Field(default=60.0, gt=0)
    """How long a directive is lent to a service before another may have it."""
    drain_seconds: float = Field(default=10.0, ge=0)
    """How long a stop waits for requests and directives under way."""

    # services that come with it
    services: Literal["reference", "echo", "none"] = "none"
    """`reference`: OCR, EMBEDDING and SIS in processes of their own; `echo`: the process plays all services
    itself. The command line's own default is `reference` if the extra is installed, else `echo`."""
    echo_delay: float = Field(default=0.0, ge=0)
    """Seconds each step takes."""
    echo_failure_rate: float = Field(default=0.0, ge=0, le=1)
    """Share of attempts that fail and are tried again."""
    echo_step_types: str = ""
    """Step types echo serves, with commas between; empty: all. Leave out what a real service serves."""

    # who may call
    jwt_issuer: str | None = None
    """The only issuer (`iss`) whose tokens count; None: no tokens."""
    jwt_audience: str | None = None
    """The audience (`aud`) tokens must name; required with an issuer."""
    jwt_jwks: str | None = None
    """URL or file of the issuer's keys; None: `/.well-known/jwks.json` of the issuer."""
    jwt_tenants_claim: str = "tenants"
    """The claim that lists the caller's tenants; `/a/b` goes into nested claims."""
    jwt_roles_claim: str = "roles"
    """The claim that lists the caller's roles."""

    # what it tells
    log_level: str = "info"
    """The least level that is written: debug, info, warning, error."""
    log_style: Literal["auto", "json", "console"] = "auto"
    """JSON lines or coloured text; auto: text on a terminal."""
    otlp_endpoint: str | None = None
    """Where traces go (OTLP over HTTP); None: nowhere, unless OpenTelemetry's own variables say so."""
    metrics_tenants: int = Field(default=0, ge=0)
    """How many tenants get metrics of their own."""

    @field_validator("public_url")
    @classmethod
    def _callable(cls, given: str | None) -> str | None:
        if given and not is_base(given):
            raise ValueError("write http://HOST:PORT or https://HOST, where services reach the API")
        return given

    @property
    def ledger_path(self) -> str:
        """The ledger's file, or `:memory:`."""
        return ":memory:" if self.in_memory else str(self.data / "ledger.db")

    @property
    def base_url(self) -> str:
        """What services are told to call."""
        return (self.public_url or self.local_url).rstrip("/")

    @property
    def local_url(self) -> str:
        """Where this machine reaches it."""
        return f"http://{self._host}:{self.port}"

    @property
    def all_addresses(self) -> bool:
        """Whether it listens on every address of the machine (`0.0.0.0`, `::`)."""
        try:
            return not self.host or ip_address(self.host).is_unspecified
        except ValueError:  # a name
            return False

    def workspace_uri(self, root: Path) -> str:
        """The root of every job's workspace, `root` being where this process keeps its files."""
        return self.workspace_root or (root.resolve() / "workspace" / "lucius").as_uri()

    @property
    def _host(self) -> str:
        """The host in a URL."""
        host = self.host
        if self.all_addresses:  # no place to call; each family has its own: `::` does not take IPv4
            host = "::1" if ":" in host else "127.0.0.1"
        return f"[{host}]" if ":" in host else host
