from __future__ import annotations

import pytest

from lucius.errors import Forbidden, Invalid
from lucius.security.loopback import check_bind, check_origin, is_loopback

HERE = ["127.0.0.1", "127.8.9.1", "::1", "[::1]", "localhost", "LOCALHOST", "localhost.", "::ffff:127.0.0.1"]
ELSEWHERE = [
    "",
    "0.0.0.0",  # noqa: S104 - the address to refuse
    "::",
    "192.168.1.5",
    "10.0.0.1",
    "example.com",
    "localhost.example.com",
    "127.0.0.1.example.com",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "::ffff:10.0.0.1",
    "64:ff9b::7f00:1",
]


@pytest.mark.parametrize("host", HERE)
def test_open_mode_listens_on_this_machine(host: str) -> None:
    """Every spelling of loopback that needs no resolver may be bound."""
    assert is_loopback(host)
    check_bind(host, open_mode=True)


@pytest.mark.parametrize("host", ELSEWHERE)
def test_open_mode_listens_nowhere_else(host: str) -> None:
    """Without credentials no other address is bound, and one sentence says what to do."""
    with pytest.raises(Invalid) as refused:
        check_bind(host, open_mode=True)
    assert refused.value.code == "OPEN_BIND_REFUSED"
    assert "lucius keys create" in refused.value.message
    check_bind(host, open_mode=False)


@pytest.mark.parametrize("host", ["127.0.0.1:8700", "localhost", "[::1]:8700", "LocalHost:8700"])
def test_requests_that_name_this_machine_pass(host: str) -> None:
    """A program sends no Origin; a page of ours sends its own."""
    check_origin(host, None)
    check_origin(host, f"http://{host}")


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "attacker.example",
        "attacker.example:8700",
        "127.0.0.1.attacker.example",
        "localhost@attacker.example",
        "127.0.0.1:8700, attacker.example",
        "[::1",
        "127.0.0.1:",
        "127.0.0.1\n",
        "0.0.0.0:8700",
    ],
)
def test_a_rebound_name_is_refused(host: str | None) -> None:
    """A page whose name was pointed at this machine still sends its own name."""
    with pytest.raises(Forbidden) as refused:
        check_origin(host, None)
    assert refused.value.code == "HOST_REFUSED"


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "https://attacker.example",
        "http://127.0.0.1:9999",
        "http://localhost:8700",
        "http://127.0.0.1:8700@attacker.example",
        "http://127.0.0.1:8700.attacker.example",
        "file://127.0.0.1:8700",
        "http://[",
        "127.0.0.1:8700",
    ],
)
def test_other_web_sites_are_refused(origin: str) -> None:
    """A browser names the page it sends for; only our own passes, another port is another site."""
    with pytest.raises(Forbidden) as refused:
        check_origin("127.0.0.1:8700", origin)
    assert refused.value.code == "ORIGIN_REFUSED"
