from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lucius.testing.ssrf import HARMLESS_URLS, HOSTILE_URLS, HostileUrl
from lucius.webhooks.addresses import is_public
from lucius.webhooks.guard import Policy, UrlRefused, check_answer, check_url, read_url

STRICT = Policy()
LOCAL = Policy(allow_loopback=True)


@pytest.mark.parametrize("case", [c for c in HOSTILE_URLS if not c.answers], ids=lambda c: c.trick)
def test_hostile_text_is_refused_without_dns(case: HostileUrl) -> None:
    """A URL whose text shows the trick is refused when the job is submitted."""
    (problem,) = check_url(case.url, STRICT, pointer="/callback_urls/0")
    assert problem.code.startswith("WEBHOOK_")
    assert problem.pointer == "/callback_urls/0"


@pytest.mark.parametrize("case", [c for c in HOSTILE_URLS if c.answers], ids=lambda c: c.trick)
def test_hostile_answer_is_refused(case: HostileUrl) -> None:
    """A name that leads to one address off limits is refused, whatever else it leads to."""
    target = read_url(case.url, STRICT)
    with pytest.raises(UrlRefused) as refused:
        check_answer(target, case.answers, STRICT)
    assert refused.value.code == "WEBHOOK_ADDRESS"
    assert not any(answer in refused.value.message for answer in case.answers)


@pytest.mark.parametrize("case", HARMLESS_URLS, ids=lambda c: c.trick)
def test_honest_urls_pass(case: HostileUrl) -> None:
    """The guard lets ordinary public endpoints through."""
    assert check_url(case.url, STRICT) == []
    addresses = check_answer(read_url(case.url, STRICT), case.answers, STRICT)
    assert [str(address) for address in addresses] == list(case.answers)


def test_the_corpus_is_large_and_without_doubles() -> None:
    """The public corpus holds at least forty different URLs."""
    assert len({case.url for case in HOSTILE_URLS}) == len(HOSTILE_URLS) >= 40


@pytest.mark.parametrize(
    ("url", "answers", "allowed"),
    [
        ("http://127.0.0.1:5000/in", ("127.0.0.1",), True),
        ("http://localhost:5000/in", ("127.0.0.1", "::1"), True),
        ("https://[::1]:5000/in", ("::1",), True),
        ("https://hooks.example.com/in", ("127.0.0.1",), True),
        ("http://localhost:5000/in", ("10.0.0.1",), False),
        ("http://localhost:5000/in", ("93.184.216.34",), False),
        ("http://localhost:5000/in", ("::ffff:127.0.0.1",), False),
        ("https://hooks.example.com/in", ("127.0.0.1", "10.0.0.1"), False),
        ("http://hooks.example.com/in", ("127.0.0.1",), False),
        ("http://10.0.0.1/in", ("10.0.0.1",), False),
        ("https://hooks.example.com:6379/in", ("127.0.0.1",), False),
    ],
)
def test_open_local_mode_opens_loopback_only(url: str, answers: tuple[str, ...], allowed: bool) -> None:
    """With `allow_loopback` this machine may be called, also plainly, and nothing else changes."""

    def passes() -> bool:
        try:
            check_answer(read_url(url, LOCAL), answers, LOCAL)
        except UrlRefused:
            return False
        return True

    assert passes() is allowed


def test_a_deployment_can_close_further_networks() -> None:
    """Public networks named in the policy are off limits, as text and as answer."""
    policy = Policy(closed_networks=("8.8.0.0/16", "2606:4700::/32"))
    assert check_url("https://8.8.8.8/", policy)[0].code == "WEBHOOK_ADDRESS"
    with pytest.raises(UrlRefused):
        check_answer(read_url("https://a.example.com/", policy), ("2606:4700::1",), policy)


@given(st.ip_addresses(v=4))
def test_no_ipv6_disguise_of_an_ipv4_address_is_public(address: ipaddress.IPv4Address) -> None:
    """Mapped, compatible, NAT64, 6to4, Teredo and ISATAP forms are refused for every IPv4 address."""
    number = int(address)
    disguises = (
        (0xFFFF << 32) | number,
        number,
        (0x64FF9B << 96) | number,
        (0x2002 << 112) | (number << 80),
        (0x20010000 << 96) | (number ^ 0xFFFFFFFF),
        (0x26064700 << 96) | (0x5EFE << 32) | number,
    )
    assert not any(is_public(ipaddress.IPv6Address(disguise)) for disguise in disguises)


@given(st.text(max_size=80) | st.from_regex(r"https?://[\x00-\x7f]{0,40}", fullmatch=True))
def test_any_text_gets_a_verdict(url: str) -> None:
    """Whatever is sent as a URL, the check answers and never breaks."""
    for policy in (STRICT, LOCAL):
        assert all(problem.code.startswith("WEBHOOK_") for problem in check_url(url, policy))
