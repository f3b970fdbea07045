"""Open mode: without credentials Lucius serves this machine only.

Three ways in from elsewhere are shut: a listener on another address (`check_bind`), a web page whose
name was re-pointed at 127.0.0.1 so that the browser takes Lucius for its own site, and a web page
that simply sends requests here (both `check_origin`). With credentials none of this applies: the
credential decides.
"""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

from lucius.errors import Forbidden, Invalid

_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(?P<port>[0-9]{1,5}))?")


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine, without asking any resolver."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost":
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return (mapped or address).is_loopback


def check_bind(host: str, *, open_mode: bool) -> None:
    """Raise unless Lucius may listen on this address."""
    if open_mode and not is_loopback(host):
        raise Invalid(
            f"Lucius has no credentials configured and therefore listens on this machine only, not on "
            f"{host or 'all addresses'}: create a key with `lucius keys create` or configure JWT, "
            "or use --host 127.0.0.1.",
            code="OPEN_BIND_REFUSED",
        )


def check_origin(host_header: str | None, origin_header: str | None) -> None:
    """Raise unless an open-mode request names this machine and comes from no other web site."""
    authority = _AUTHORITY.fullmatch(host_header or "")
    if authority is None or not is_loopback(authority["host"]):
        raise Forbidden(
            "Without credentials Lucius answers only to the names localhost, 127.0.0.1 and [::1].",
            code="HOST_REFUSED",
        )
    if origin_header is None:
        return
    try:
        origin = urlsplit(origin_header)
    except ValueError:
        origin = urlsplit("")
    if origin.scheme not in {"http", "https"} or origin.netloc.lower() != (host_header or "").lower():
        raise Forbidden(
            "Without credentials Lucius takes no requests from other web sites.", code="ORIGIN_REFUSED"
        )
