"""Which IP addresses a webhook may reach: public unicast ones, and nothing else.

The tables are the IANA special-purpose registries, written out: `ipaddress.is_global` differs
between patch releases of Python and calls 6to4, NAT64 and IPv4-mapped addresses global.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address

_CLOSED_V4 = tuple(
    IPv4Network(text)
    for text in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # Azure's wire server: a public number that is local to every Azure machine
        "169.254.0.0/16",  # link-local, cloud metadata
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocol assignments
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarking
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
)
#: Global unicast is one block; loopback, mapped, NAT64, unique-local, link-local, multicast lie outside.
_OPEN_V6 = IPv6Network("2000::/3")
_CLOSED_V6 = tuple(
    IPv6Network(text)
    for text in (
        "2001::/23",  # IETF protocol assignments: Teredo, ORCHID, benchmarking
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: carries any IPv4 address
        "3fff::/20",  # documentation
    )
)
#: An interface id that carries an IPv4 address (ISATAP), with and without the universal bit.
_ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})


def parse_address(text: str) -> Address | None:
    """The address this text writes in its canonical form, or None."""
    try:
        return ip_address(text)
    except ValueError:
        return None


def is_loopback(address: Address) -> bool:
    """True for this machine itself, plainly written."""
    return address.is_loopback and not (isinstance(address, IPv6Address) and address.ipv4_mapped)


def is_public(address: Address, closed: Iterable[str] = ()) -> bool:
    """True if a webhook may go there; `closed` names further networks that are off limits."""
    if any(address in ip_network(network) for network in closed):
        return False
    if isinstance(address, IPv4Address):
        return not any(address in network for network in _CLOSED_V4)
    if address.scope_id is not None or address not in _OPEN_V6:
        return False
    if (int(address) >> 32) & 0xFFFF_FFFF in _ISATAP:
        return False
    return not any(address in network for network in _CLOSED_V6)
