"""What a webhook URL may look like, and where it may lead.

Two checks with one reading of the URL. `check_url` needs no network and runs when a job is
submitted. `check_answer` judges what DNS said when a delivery is sent. The reading is a strict
grammar of our own, and the request is later built from its parts (`Target`), so no second parser
can see another host than the one that was judged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from lucius.errors import Problem
from lucius.webhooks.addresses import Address, is_loopback, is_public, parse_address

_URL = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)://(?P<authority>[^/?#]*)(?P<target>[/?][^#]*)?")
_TEXT = re.compile(r"[!$-;=?-Z\[\]_a-z~#]+")
"""Printable ASCII without blanks, quotes, backslash, angle brackets, caret, backquote, braces, bar."""
_AUTHORITY = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^:\[\]]+)(?::(?P<port>[1-9][0-9]{0,4}))?")
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOCAL_NAMES = frozenset(
    [
        "localhost",
        "local",
        "localdomain",
        "internal",
        "intranet",
        "private",
        "corp",
        "home",
        "lan",
        "arpa",
        "onion",
        "alt",
        "invalid",
    ]
)
_DEFAULT_PORT = {"https": 443, "http": 80}
_MAX_NAME = 253
_MAX_PORT = 65_535


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """What an installation lets its clients call."""

    ports: frozenset[int] = frozenset({443, 8443})
    allow_loopback: bool = False
    """For tests and the open local mode: this machine, any port, also without TLS."""
    closed_networks: tuple[str, ...] = ()
    """Public networks that are off limits too, such as one's own or a NAT64 prefix."""
    max_length: int = 2048


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """A URL taken apart. `host` is a lower-case name, or an address without brackets."""

    scheme: str
    host: str
    port: int
    path: str
    """Path and query, as they go on the request line."""
    address: Address | None = None
    """Set if the host is written as an address."""

    @property
    def authority(self) -> str:
        """Host and port as the Host header says them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _DEFAULT_PORT[self.scheme] else f"{host}:{self.port}"


class UrlRefused(Exception):  # noqa: N818 - a verdict, caught inside this room
    """This URL or what it leads to is not allowed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def check_url(url: str, policy: Policy, *, pointer: str = "") -> list[Problem]:
    """Everything the text alone shows to be wrong with a URL; empty if it may be tried."""
    try:
        read_url(url, policy)
    except UrlRefused as refused:
        return [Problem(pointer=pointer, code=refused.code, message=refused.message)]
    return []


def read_url(url: str, policy: Policy) -> Target:
    """Take a URL apart, or raise `UrlRefused`."""
    if len(url) > policy.max_length:
        raise UrlRefused("WEBHOOK_URL_INVALID", f"the URL is longer than {policy.max_length} characters")
    match = _URL.fullmatch(url)
    if match is None or not _TEXT.fullmatch(url):
        message = "not an absolute URL in plain ASCII (write other characters as xn-- or %XX, no fragment)"
        raise UrlRefused("WEBHOOK_URL_INVALID", message)
    scheme, authority = match["scheme"].lower(), match["authority"]
    if scheme not in _DEFAULT_PORT:
        raise UrlRefused("WEBHOOK_SCHEME", "webhooks go over https only")
    if "@" in authority:
        raise UrlRefused("WEBHOOK_USERINFO", "a webhook URL carries no user name or password")
    parts = _AUTHORITY.fullmatch(authority)
    if parts is None:
        raise UrlRefused("WEBHOOK_HOST", "the host or the port is not well-formed")
    host, address = _read_host(parts["host"].lower())
    path = match["target"] or "/"
    target = Target(
        scheme=scheme,
        host=host,
        port=int(parts["port"] or _DEFAULT_PORT[scheme]),
        path=path if path.startswith("/") else f"/{path}",
        address=address,
    )
    _judge(target, policy)
    return target


def check_answer(target: Target, answers: Sequence[str], policy: Policy) -> tuple[Address, ...]:
    """The addresses that may be connected to: all of DNS's answer, or `UrlRefused` if one is off limits."""
    addresses = tuple(parse_address(answer) for answer in answers)
    if not addresses:
        raise UrlRefused("WEBHOOK_UNRESOLVED", "the host has no address")
    # One bad address spoils the answer: an attacker mixes them and waits for the right turn.
    checked = [a for a in addresses if a is not None and _allowed(a, target.scheme, policy)]
    if len(checked) != len(addresses):
        raise UrlRefused("WEBHOOK_ADDRESS", "the host leads to an address that is not public")
    return tuple(checked)


def _allowed(address: Address, scheme: str, policy: Policy) -> bool:
    if policy.allow_loopback and is_loopback(address):
        return True
    return scheme == "https" and is_public(address, policy.closed_networks)


def _read_host(host: str) -> tuple[str, Address | None]:
    bracketed = host.startswith("[")
    bare = host[1:-1] if bracketed else host
    address = parse_address(bare)
    if bracketed != (address is not None and ":" in bare):
        raise UrlRefused("WEBHOOK_HOST", "the host is not a well-formed IPv6 address")
    if address is not None:
        return str(address), address
    labels = host.split(".")
    if _NUMBER.fullmatch(labels[-1]) or _NUMBER.fullmatch(labels[-2] if host.endswith(".") else ""):
        message = "an IPv4 address is written as four decimal numbers without leading zeros"
        raise UrlRefused("WEBHOOK_HOST", message)
    if len(host) > _MAX_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        raise UrlRefused(
            "WEBHOOK_HOST", "the host is not a well-formed name (no trailing dot, letters as xn--)"
        )
    return host, None


def _judge(target: Target, policy: Policy) -> None:
    home = target.host == "localhost" or (target.address is not None and is_loopback(target.address))
    if home and policy.allow_loopback:
        return
    if target.scheme != "https":
        raise UrlRefused("WEBHOOK_SCHEME", "webhooks go over https only")
    if target.address is not None:
        if not is_public(target.address, policy.closed_networks):
            raise UrlRefused("WEBHOOK_ADDRESS", "the host is an address that is not public")
    elif "." not in target.host or target.host.rpartition(".")[2] in _LOCAL_NAMES:
        raise UrlRefused("WEBHOOK_HOST", "the host is a local name; webhooks go to public hosts")
    if target.port not in policy.ports or target.port > _MAX_PORT:
        allowed = ", ".join(str(port) for port in sorted(policy.ports))
        raise UrlRefused("WEBHOOK_PORT", f"this port is not allowed for webhooks; allowed: {allowed}")
