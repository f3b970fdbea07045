"""What a Temporal server wants to see of us: key and certificates, read from where the settings say."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

from lucius.errors import Invalid

if TYPE_CHECKING:
    from pathlib import Path

    from lucius.runtime.settings import Settings

_PEM = b"-----BEGIN "


class TemporalAccess(TypedDict):
    """Credentials, in the words of the engine's connection."""

    api_key: str | None
    tls: bool
    client_certificate: bytes | None
    client_key: bytes | None
    server_ca: bytes | None


def temporal_access(settings: Settings) -> TemporalAccess:
    """All of them; `Invalid` names a file that cannot be read or is something else."""
    key = settings.temporal_api_key
    return TemporalAccess(
        api_key=None if key is None else key.get_secret_value(),
        tls=settings.temporal_uses_tls,
        client_certificate=_pem(settings.temporal_tls_client_cert),
        client_key=_pem(settings.temporal_tls_client_key),
        server_ca=_pem(settings.temporal_tls_server_ca),
    )


def _pem(path: Path | None) -> bytes | None:
    if path is None:
        return None
    try:
        found = path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror}; Temporal's TLS settings name it."
        raise Invalid(message, code="BAD_SETTINGS") from None
    if _PEM not in found:
        raise Invalid(f"{path} is not a PEM file; Temporal's TLS settings name it.", code="BAD_SETTINGS")
    return found
