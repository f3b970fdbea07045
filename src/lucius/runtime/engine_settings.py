"""The settings of the two engines: which one drives jobs, where Temporal is, where the invoker is.

A setting that contradicts another, or would send a secret in the clear, refuses the start with a sentence.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, Field, SecretStr, field_validator, model_validator

Engine = Literal["outbox", "temporal"]
SHORTEST_TOKEN = 32
"""Characters; a made one has 43, which are 256 random bits."""


_HOST_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s/:\[\]]+):[0-9]{1,5}")
_IP_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[0-9.]+):[0-9]{1,5}")
_DEPLOYMENT_BUILD = re.compile(r"[^\s:.]+:\S+")
_HIGHEST_PORT = 65535


def _is_port(place: str) -> bool:
    return int(place.rpartition(":")[2]) <= _HIGHEST_PORT


def _engine(known: dict[str, Any]) -> Engine:
    return "temporal" if known.get("temporal_enabled") else "outbox"


class EngineSettings(BaseModel):
    """How jobs are driven."""

    # engine
    temporal_enabled: bool | None = None
    """`true` means the same as `LUCIUS_ENGINE=temporal`; None: the engine's own setting decides."""
    engine: Engine = Field(default_factory=_engine)
    """What drives jobs: `outbox` needs nothing else, `temporal` a Temporal server."""

    # Temporal
    temporal_address: str | None = None
    """`HOST:PORT` of the server; None: `lucius up` starts a development server of its own."""
    temporal_namespace: str = Field(default="default", min_length=1)
    """The namespace that holds the workflows."""
    temporal_task_queue: str = Field(default="lucius", min_length=1)
    """The task queue that the temporal workers serve."""
    temporal_workflow_execution_timeout: float | None = Field(default=None, gt=0)
    """Seconds after which Temporal gives a workflow up, retries and pauses included; None: never."""
    temporal_search_attributes: bool = True
    """Whether workflows carry LuciusTenant, LuciusProtocol and LuciusStatus; the namespace must know them."""
    temporal_api_key: SecretStr | None = Field(default=None, min_length=1)
    """Sent to the server as a bearer token; implies TLS."""
    temporal_tls: bool = False
    """Speak TLS to the server; an API key or one of the files below implies it."""
    temporal_tls_client_cert: Path | None = None
    """The certificate that the server shall know us by (PEM), with its key."""
    temporal_tls_client_key: Path | None = None
    """The key of that certificate (PEM)."""
    temporal_tls_server_ca: Path | None = None
    """Who must have signed the server's certificate (PEM); None: whom this machine trusts."""
    temporal_ui_port: int | None = Field(default=None, ge=1, le=65535)
    """Where the development server of `lucius up` shows its web pages; None: nowhere."""
    temporal_worker_health: str | None = None
    """`HOST:PORT` where `lucius temporal-worker` answers /healthz and /readyz; None: nowhere."""
    temporal_worker_version: str | None = None
    """`DEPLOYMENT:BUILD` of a worker whose workflows stay with their build; None: any worker takes any."""
    temporal_metrics_address: str | None = None
    """`IP:PORT` where a temporal worker serves /metrics of Temporal's SDK; None: nowhere."""

    # invoker
    invoker_url: str | None = None
    """Where others find the invoker, several with commas between; None: where it listens by the next two."""
    invoker_host: str = "127.0.0.1"
    """The address that the invoker's internal API listens on."""
    invoker_port: int = Field(default=8701, ge=0, le=65535)
    """Its port."""
    invoker_token: SecretStr | None = None
    """What callers of the internal API must show, at least 32 characters; None: the content of
    `secrets/invoker-token` in the data directory, which is made when it is not there."""

    @property
    def temporal_uses_tls(self) -> bool:
        """Whether anything asks for TLS."""
        return bool(self._tls_names())

    @property
    def invoker_listens(self) -> str:
        """Where an invoker of this process listens."""
        host = f"[{self.invoker_host}]" if ":" in self.invoker_host else self.invoker_host
        return f"http://{host}:{self.invoker_port}"

    @property
    def temporal_worker_build(self) -> tuple[str, str] | None:
        """Deployment and build, if workflows stay with theirs."""
        if self.temporal_worker_version is None:
            return None
        deployment, _, build = self.temporal_worker_version.partition(":")
        return deployment, build

    @property
    def invoker_urls(self) -> tuple[str, ...]:
        """Where the invoker is, each without a slash at its end."""
        if self.invoker_url is None:
            return (self.invoker_listens,)
        return tuple(one.strip().rstrip("/") for one in self.invoker_url.split(",") if one.strip())

    @field_validator("temporal_address", "temporal_worker_health")
    @classmethod
    def _place(cls, given: str | None) -> str | None:
        if given is not None and not (_HOST_PORT.fullmatch(given) and _is_port(given)):
            raise ValueError("write HOST:PORT, such as 127.0.0.1:7233")
        return given

    @field_validator("temporal_metrics_address")
    @classmethod
    def _numeric_place(cls, given: str | None) -> str | None:
        if given is not None and not (_IP_PORT.fullmatch(given) and _is_port(given)):
            raise ValueError("write IP:PORT, such as 127.0.0.1:9464; names of hosts are not taken")
        return given

    @field_validator("temporal_worker_version")
    @classmethod
    def _version(cls, given: str | None) -> str | None:
        if given is not None and not _DEPLOYMENT_BUILD.fullmatch(given):
            raise ValueError("write DEPLOYMENT:BUILD, the first without dots, both without blanks")
        return given

    @field_validator("invoker_url")
    @classmethod
    def _addresses(cls, given: str | None) -> str | None:
        parts = [one.strip() for one in given.split(",")] if given is not None else []
        if not all(map(is_base, parts)):
            raise ValueError("write http://HOST:PORT, several with commas between")
        return given

    @field_validator("invoker_token")
    @classmethod
    def _strong(cls, given: SecretStr | None) -> SecretStr | None:
        if given is not None:
            check_token(given.get_secret_value())
        return given

    @model_validator(mode="after")
    def _one_engine(self) -> Self:
        if self.temporal_enabled is not None and self.temporal_enabled != (self.engine == "temporal"):
            said = str(self.temporal_enabled).lower()
            raise ValueError(
                f"the engine shall be {self.engine}, but LUCIUS_TEMPORAL_ENABLED is {said}; unset one of them"
            )
        return self

    @model_validator(mode="after")
    def _tls_fits(self) -> Self:
        if (self.temporal_tls_client_cert is None) != (self.temporal_tls_client_key is None):
            raise ValueError(
                "LUCIUS_TEMPORAL_TLS_CLIENT_CERT and LUCIUS_TEMPORAL_TLS_CLIENT_KEY go together; set both"
            )
        if self.engine == "temporal" and self.temporal_address is None and self._tls_names():
            names = ", ".join(self._tls_names())
            raise ValueError(
                f"{names} cannot be used with the development server, which has no TLS; "
                "name a server with LUCIUS_TEMPORAL_ADDRESS"
            )
        return self

    def _tls_names(self) -> list[str]:
        names = ("api_key", "tls", "tls_client_cert", "tls_client_key", "tls_server_ca")
        return [f"LUCIUS_TEMPORAL_{name.upper()}" for name in names if getattr(self, f"temporal_{name}")]


def is_base(url: str) -> bool:
    """Whether others can be told to call what is below this."""
    return urlsplit(url).scheme in {"http", "https"} and bool(urlsplit(url).netloc)


def check_token(token: str) -> None:
    """Raise `ValueError` unless this is a token nobody guesses, and one that a header can carry."""
    if len(token) < SHORTEST_TOKEN:
        raise ValueError(f"the invoker's token needs at least {SHORTEST_TOKEN} characters")
    if not all("!" <= letter <= "~" for letter in token):
        raise ValueError("the invoker's token may hold printable ASCII without blanks only")
