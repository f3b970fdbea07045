"""The file that holds the webhook secrets of an installation.

    {"installation": "whsec_…", "tenants": {"tenant_a": ["whsec_new…", "whsec_old…"]}}

Made with a fresh secret when there is none, readable by its owner only. A file that is there but
not usable stops the start: signing with another secret would look like a forgery to every client.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from lucius.errors import Invalid
from lucius.webhooks.signing import Signer, make_secret

_KEY_BYTES = 32


class Keys(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The file's content."""

    installation: str
    tenants: dict[str, tuple[str, ...]] = {}


def open_signer(path: Path, entropy: Callable[[int], bytes]) -> Signer:
    """The signer for this installation; writes the file if it is missing. Blocking: call it at start."""
    if not path.exists():
        fresh = Keys(installation=make_secret(entropy(_KEY_BYTES)))
        # The draft's name is its own: processes that start together do not touch each other's.
        _create(path, path.with_name(f".{path.name}.{entropy(8).hex()}"), msgspec.json.encode(fresh))
    if path.stat().st_mode & 0o077:
        message = f"{path} can be read by others: chmod 600 it, and change its secrets if it was shared"
        raise Invalid(message, code="WEBHOOK_SECRETS_EXPOSED")
    try:
        keys = msgspec.json.decode(path.read_bytes(), type=Keys)
    except msgspec.DecodeError:
        # The decoder's own words may quote the file, and the file is secret.
        message = (
            f'{path} is not usable: expected {{"installation": "whsec_…", "tenants": {{id: [whsec_…]}}}}'
        )
        raise Invalid(message, code="WEBHOOK_SECRET_INVALID") from None
    return Signer(keys.installation, keys.tenants)


def _create(path: Path, draft: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)  # whoever was first keeps its secret
    except FileExistsError:
        pass
    finally:
        draft.unlink()
