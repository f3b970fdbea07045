"""Whether a host name can be a public one, judged by its spelling alone.

No state, no resolver: a public name may still lead to a private address, which only whoever connects
can see. What is refused here is refused in every notation: programs disagree about what `010.0.0.1`,
`2130706433` or `0x7f.1` mean, so an address is taken in its one canonical form or not at all.
"""

from __future__ import annotations

import ipaddress
import re

_NAME = re.compile(
    r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.?"
)
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_PRIVATE_ENDS = frozenset(
    {
        "localhost",
        "localdomain",
        "local",
        "internal",
        "intranet",
        "private",
        "corp",
        "home",
        "lan",
        "arpa",
        "test",
        "invalid",
        "onion",
    }
)
# Addresses that carry another one inside: mapped, translated (NAT64), 6to4, Teredo, compatible.
_CARRIERS = tuple(
    ipaddress.IPv6Network(network)
    for network in (
        "::/96",
        "::ffff:0:0/96",
        "::ffff:0:0:0/96",
        "64:ff9b::/96",
        "64:ff9b:1::/48",
        "2002::/16",
        "2001::/32",
    )
)


def why_not_public(host: str) -> str | None:
    """Why `host` (a name, or an address; IPv6 in brackets) is refused; None if it may be public."""
    lowered = host.lower() if host.isascii() else ""
    if lowered.startswith("["):
        return _why_not_v6(lowered)
    if not _NAME.fullmatch(lowered):
        return "is not a host name"
    labels = lowered.rstrip(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return _why_not_v4(lowered)
    if len(labels) == 1:
        return "is a name without a domain"
    if labels[-1] in _PRIVATE_ENDS:
        return "is a private name"
    return None


def _why_not_v4(host: str) -> str | None:
    try:
        address = ipaddress.IPv4Address(host)
    except ValueError:
        return "is a number, but no address in dotted decimal"
    return None if _is_public(address) else "is not a public address"


def _why_not_v6(host: str) -> str | None:
    if not host.endswith("]") or "%" in host:
        return "is not an address"
    try:
        address = ipaddress.IPv6Address(host[1:-1])
    except ValueError:
        return "is not an address"
    carries = any(address in network for network in _CARRIERS)
    return None if _is_public(address) and not carries else "is not a public address"


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    return address.is_global and not (address.is_multicast or address.is_reserved)
