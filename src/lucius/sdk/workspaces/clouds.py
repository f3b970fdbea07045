"""Opening object stores with what the environment says, the way each cloud's own tools read it.

No state: each call opens one store. Credentials come from variables (or, where there are none, from the
machine's identity); a reference never brings any. A store refuses plain http unless its endpoint is on
this machine or AWS_ALLOW_HTTP / AZURE_ALLOW_HTTP says so. What cannot be opened raises `ValueError` or
an error of obstore.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from lucius.security.loopback import is_loopback

if TYPE_CHECKING:
    from obstore.store import AzureStore, GCSStore, S3Store

_S3 = {
    "access_key_id": ("AWS_ACCESS_KEY_ID",),
    "secret_access_key": ("AWS_SECRET_ACCESS_KEY",),
    "session_token": ("AWS_SESSION_TOKEN",),
    "region": ("AWS_REGION", "AWS_DEFAULT_REGION"),
    "endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"),
    "skip_signature": ("AWS_SKIP_SIGNATURE",),
}
_AZURE = {
    "account_name": ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT"),
    "account_key": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_KEY", "AZURE_STORAGE_ACCESS_KEY"),
    "sas_key": ("AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_KEY"),
    "endpoint": ("AZURE_STORAGE_ENDPOINT", "AZURE_ENDPOINT"),
    "client_id": ("AZURE_CLIENT_ID",),
    "client_secret": ("AZURE_CLIENT_SECRET",),
    "tenant_id": ("AZURE_TENANT_ID",),
}
_CONNECTION = {
    "AccountName": "account_name",
    "AccountKey": "account_key",
    "SharedAccessSignature": "sas_key",
    "BlobEndpoint": "endpoint",
}
_GCS = {
    "service_account": ("GOOGLE_SERVICE_ACCOUNT", "GOOGLE_SERVICE_ACCOUNT_PATH"),
    "application_credentials": ("GOOGLE_APPLICATION_CREDENTIALS",),
    "skip_signature": ("GOOGLE_SKIP_SIGNATURE",),
}
#: Only Azure's own hosts: to any other, our credentials would be told to a stranger.
_AZURE_HOST = re.compile(
    r"(?P<account>[a-z0-9]{3,24})\.(?:dfs|blob)\.(?P<cloud>core\.(?:windows\.net|chinacloudapi\.cn|usgovcloudapi\.net))"
)
_YES = frozenset({"1", "true", "yes", "on"})


class Patience(msgspec.Struct, frozen=True, kw_only=True):
    """How long a store may keep us waiting. Lucius makes another attempt later, so: not for long."""

    retries: int = 4
    retry_seconds: float = 30.0
    silence_seconds: float = 60.0
    """Without a byte; a transfer as a whole may take an hour."""

    def options(self, *, allow_http: bool = False) -> dict[str, Any]:
        """The same, as a store takes it."""
        return {
            "client_options": {
                "connect_timeout": timedelta(seconds=10),
                "read_timeout": timedelta(seconds=self.silence_seconds),
                "timeout": timedelta(hours=1),
                "allow_http": allow_http,
            },
            "retry_config": {
                "max_retries": self.retries,
                "retry_timeout": timedelta(seconds=self.retry_seconds),
            },
        }


def s3(bucket: str, variables: Mapping[str, str], patience: Patience) -> S3Store:
    """A bucket of S3, or of something that speaks like it."""
    from obstore.store import S3Store  # noqa: PLC0415 - loaded when the first store is opened

    config = _chosen(_S3, variables)
    options = patience.options(allow_http=_http_allowed(config.get("endpoint"), variables, "AWS_ALLOW_HTTP"))
    return S3Store(bucket, config=config, **options)  # type: ignore[arg-type]


def azure(authority: str, variables: Mapping[str, str], patience: Patience) -> AzureStore:
    """A container: `container`, or `container@account.dfs.core.windows.net`."""
    from obstore.store import AzureStore  # noqa: PLC0415 - as above

    container, at, host = authority.partition("@")
    config = _chosen(_AZURE, variables) | _connection(variables.get("AZURE_STORAGE_CONNECTION_STRING", ""))
    if at:
        config = _for_account(config, host.lower())
    options = patience.options(
        allow_http=_http_allowed(config.get("endpoint"), variables, "AZURE_ALLOW_HTTP")
    )
    return AzureStore(container, config=config, **options)  # type: ignore[arg-type]


def gcs(bucket: str, variables: Mapping[str, str], patience: Patience) -> GCSStore:
    """A bucket of Google Cloud Storage."""
    from obstore.store import GCSStore  # noqa: PLC0415 - as above

    return GCSStore(bucket, config=_chosen(_GCS, variables), **patience.options())  # type: ignore[arg-type]


def _chosen(names: Mapping[str, tuple[str, ...]], variables: Mapping[str, str]) -> dict[str, str]:
    """Each setting from the first of its variables that says something."""
    found = {
        setting: next((variables[name] for name in given if variables.get(name)), "")
        for setting, given in names.items()
    }
    return {setting: value for setting, value in found.items() if value}


def _connection(text: str) -> dict[str, str]:
    """What a connection string of Azure says."""
    pairs = (part.partition("=") for part in text.split(";") if part)
    return {_CONNECTION[name.strip()]: value for name, _, value in pairs if name.strip() in _CONNECTION}


def _for_account(config: dict[str, str], host: str) -> dict[str, str]:
    """The settings for the account that a reference names; keys are good for their own account only."""
    found = _AZURE_HOST.fullmatch(host)
    if found is None:
        raise ValueError("the account is none of Azure's")
    if found["account"] == config.get("account_name"):
        return config
    own = {"account_name", "account_key", "sas_key", "endpoint"}
    rest = {setting: value for setting, value in config.items() if setting not in own}
    endpoint = f"https://{found['account']}.blob.{found['cloud']}"
    return rest | {"account_name": found["account"], "endpoint": endpoint}


def _http_allowed(endpoint: str | None, variables: Mapping[str, str], switch: str) -> bool:
    parts = urlsplit(endpoint or "")
    if parts.scheme != "http":
        return False
    if is_loopback(parts.hostname or "") or variables.get(switch, "").lower() in _YES:
        return True
    raise ValueError(f"its endpoint is plain http on another machine; set {switch}=true if that is meant")
