"""References: what may be handed to services."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lucius.core.hosts import why_not_public
from lucius.core.refs import MAX_REF, MAX_URI, RefPolicy, RefRules, check_ref

OPEN = RefPolicy()


def codes(uri: Any, policy: RefPolicy = OPEN, tenant: str = "acme", **metadata: Any) -> set[str]:
    """The codes a reference is refused with; empty: taken."""
    problems = check_ref({"uri": uri, **metadata}, policy, tenant, "/input_ref")
    assert all(problem.pointer.startswith("/input_ref") for problem in problems)
    assert len(str(uri)) < 12 or all(str(uri) not in problem.message for problem in problems)
    return {problem.code for problem in problems}


PRIVATE = st.sampled_from(
    ["10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10"]
).flatmap(lambda network: st.ip_addresses(v=4, network=network))
SPELLINGS: list[Callable[[int], str]] = [
    str,
    hex,
    lambda part: f"0{part:o}",
    lambda part: f"0x{part:08X}",
    lambda part: f"{part:05}",
]


@st.composite
def notations(draw: st.DrawFn) -> str:
    """A private address as some program or other would understand it."""
    number = int(draw(PRIVATE))
    octets = number.to_bytes(4, "big")
    spell = st.sampled_from(SPELLINGS)
    parts: list[int] = draw(
        st.sampled_from(
            [[number], [octets[0], number & 0xFFFFFF], [octets[0], octets[1], number & 0xFFFF], list(octets)]
        )
    )
    dotted = ".".join(draw(spell)(part) for part in parts)
    embedded = ipaddress.IPv4Address(number)
    wide = dotted.translate({ord("0") + digit: 0xFF10 + digit for digit in range(10)})
    high, low = number >> 16, number & 0xFFFF
    forms = [
        dotted,
        f"{dotted}.",
        wide,
        f"{dotted}:443",
        f"[::ffff:{embedded}]",
        f"[::{embedded}]",
        f"[::ffff:0:{embedded}]",
        f"[64:ff9b::{embedded}]",
        f"[64:ff9b:1::{embedded}]",
        f"[2002:{high:x}:{low:x}::1]",
        f"[2001:0:{high:x}:{low:x}::]",
        quote(dotted).replace("1", "%31"),
    ]
    return draw(st.sampled_from(forms))


@given(notations())
@settings(max_examples=500)
def test_private_addresses_are_refused_in_every_notation(host: str) -> None:
    """No spelling of a private address passes for a public host."""
    assert codes(f"https://{host}/a") == {"REF_HOST_NOT_PUBLIC"}


@given(st.ip_addresses())
@settings(max_examples=200)
def test_addresses_pass_only_if_global(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    """An address that passes is global by the registry's word."""
    host = str(address) if address.version == 4 else f"[{address}]"
    if why_not_public(host) is None:
        assert address.is_global
        assert not address.is_multicast


NAMES = st.from_regex(r"[a-z][a-z0-9]{0,10}", fullmatch=True)


@given(NAMES, st.sampled_from(["localhost", "local", "internal", "lan", "corp", "home.arpa"]), st.booleans())
def test_private_names_are_refused(name: str, end: str, dot: bool) -> None:
    """Names that only a private network answers for are refused, in any case, with or without a final dot."""
    tail = "." if dot else ""
    for host in (f"{name}.{end}{tail}", f"{name}.{end}{tail}".upper(), name):
        assert codes(f"https://{host}/a") == {"REF_HOST_NOT_PUBLIC"}


ENCODERS = [
    lambda text: text,
    lambda text: "".join(f"%{byte:02x}" for byte in text.encode()),
    lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    lambda text: "".join(f"%25{byte:02x}" for byte in text.encode()),
    lambda text: "".join(f"%2525{byte:02x}" for byte in text.encode()),
    lambda text: "".join(f"%252525{byte:02x}" for byte in text.encode()),
    lambda text: "".join(chr(ord(letter) + 0xFEE0) for letter in text),
]
EVIL = st.sampled_from(["..", ".", "/", "\\", "\x00", "\n", "//", "\u202e"]).flatmap(
    lambda text: st.sampled_from(ENCODERS[1:6] if not "!" <= text[0] <= "~" else ENCODERS).map(
        lambda encode: (text, encode(text))
    )
)


@given(NAMES, EVIL, NAMES, st.sampled_from(["s3", "az", "gs", "https"]))
@settings(max_examples=300)
def test_paths_that_mean_another_place_are_refused(
    before: str, evil: tuple[str, str], after: str, scheme: str
) -> None:
    """Dot segments, separators and control characters are refused however they are encoded."""
    text, spelled = evil
    middle = f"/{spelled}/" if set(text) == {"."} else spelled
    if text == spelled == "/":
        middle = "//"
    assert codes(f"{scheme}://files.example.com/{before}{middle}{after}") == {"REF_PATH_UNSAFE"}


@given(
    st.text(max_size=30)
    | st.text("s3:/%.2eE5cf\\@?#&=;[]0x7 ", max_size=30).map(lambda text: "s3://scans/" + text)
)
@settings(max_examples=500)
@example("s3://scans/a")
def test_any_text_is_judged_and_what_passes_is_plain(uri: str) -> None:
    """No text breaks the check, and one that passes has no reading outside its container."""
    if codes(uri):
        return
    path = uri.split("://", 1)[1].partition("?")[0].partition("/")[2]
    for _ in range(5):
        assert not {"..", "."} & set(path.split("/"))
        assert "\\" not in path
        assert path.isprintable()
        path = unquote(path)


@given(
    st.sampled_from(
        [
            "sig",
            "X-Amz-Signature",
            "x-amz-credential",
            "AWSAccessKeyId",
            "access_token",
            "api-key",
            "Password",
            "TOKEN",
            "sas",
        ]
    ),
    st.sampled_from(["?{}=x", "?a=b&{}=x", "?a=b;{}=x", "?{}", "?a&{}=&c"]),
    st.integers(0, 2),
)
def test_credentials_in_the_query_are_refused(name: str, form: str, escaped: int) -> None:
    """A key or token is refused wherever it stands in the query, however its name is spelled."""
    spelled = "".join(f"%{ord(letter):02x}" for letter in name[:escaped]) + name[escaped:]
    assert codes("https://files.example.com/a" + form.format(spelled)) == {"REF_CREDENTIALS"}


@pytest.mark.parametrize(
    "query", ["?version=3", "?design=1&assign=2", "?versionId=abc", "?monkey=1", "?page=2;x=1"]
)
def test_other_queries_are_taken(query: str) -> None:
    """A query that only resembles a credential is left alone."""
    assert codes("https://files.example.com/a" + query) == set()


def test_credentials_in_metadata_are_refused() -> None:
    """Metadata travels with the reference, so it may not hold credentials either, nor be large."""
    assert codes("s3://scans/a", size=3, etag="x") == set()
    assert codes("s3://scans/a", sas_token="x") == {"REF_CREDENTIALS"}
    assert codes("s3://scans/a", note="n" * MAX_REF) == {"REF_TOO_LARGE"}


@pytest.mark.parametrize(
    ("ref", "code"),
    [
        (None, "WRONG_TYPE"),
        ("s3://scans/a", "WRONG_TYPE"),
        ([], "WRONG_TYPE"),
        ({}, "REF_URI_REQUIRED"),
        ({"uri": 3}, "REF_URI_REQUIRED"),
        ({"uri": ""}, "REF_URI_REQUIRED"),
        ({"uri": "s3://scans/" + "a" * MAX_URI}, "REF_URI_TOO_LONG"),
    ],
)
def test_shape(ref: Any, code: str) -> None:
    """A reference is an object with a uri of bounded length."""
    assert [problem.code for problem in check_ref(ref, OPEN, "acme", "/input_ref")] == [code]


NARROW = RefPolicy(
    schemes=frozenset({"s3", "https", "abfss"}),
    hosts=("scans-*", "https://*.blob.core.windows.net", "data@lake.dfs.core.windows.net"),
    prefixes=("/tenants/{tenant}/",),
    tenants={"vip": RefRules(schemes=frozenset({"gs"}), hosts=(), prefixes=())},
)


@pytest.mark.parametrize(
    ("uri", "tenant", "code"),
    [
        ("s3://scans-1/tenants/acme/a", "acme", None),
        ("s3://scans-1/tenants/acme", "acme", None),
        ("https://x.BLOB.core.windows.net/tenants/acme/a", "acme", None),
        ("https://x.blob.core.windows.net.:443/tenants/acme/a", "acme", None),
        ("abfss://data@lake.dfs.core.windows.net/tenants/acme/a", "acme", None),
        ("abfss://other@lake.dfs.core.windows.net/tenants/acme/a", "acme", "REF_HOST_NOT_ALLOWED"),
        ("https://x.blob.core.windows.net.evil.example.com/tenants/acme/a", "acme", "REF_HOST_NOT_ALLOWED"),
        ("s3://x.blob.core.windows.net/tenants/acme/a", "acme", "REF_HOST_NOT_ALLOWED"),
        ("s3://other/tenants/acme/a", "acme", "REF_HOST_NOT_ALLOWED"),
        ("s3://scans-1/tenants/acme2/a", "acme", "REF_PATH_NOT_ALLOWED"),
        ("s3://scans-1/tenants/other/a", "acme", "REF_PATH_NOT_ALLOWED"),
        ("s3://scans-1/tenants/%61cme/a", "acme", "REF_PATH_NOT_ALLOWED"),
        ("s3://scans-1", "acme", "REF_PATH_NOT_ALLOWED"),
        ("gs://any/where", "acme", "REF_SCHEME_NOT_ALLOWED"),
        ("gs://any/where", "vip", None),
        ("s3://scans-1/tenants/vip/a", "vip", "REF_SCHEME_NOT_ALLOWED"),
    ],
)
def test_allow_lists(uri: str, tenant: str, code: str | None) -> None:
    """Schemes, hosts and prefixes are allow-lists, and a tenant's own list replaces the global one."""
    assert codes(uri, NARROW, tenant) >= ({code} if code else set())
    assert bool(codes(uri, NARROW, tenant)) is (code is not None)


FILES = RefPolicy(file_root="/srv/lucius/files")


@pytest.mark.parametrize(
    ("uri", "code"),
    [
        ("file:///srv/lucius/files/a.pdf", None),
        ("file://localhost/srv/lucius/files/sub/a.pdf", None),
        ("file:///srv/lucius/files", "REF_PATH_NOT_ALLOWED"),
        ("file:///srv/lucius/files/", "REF_PATH_NOT_ALLOWED"),
        ("file:///srv/lucius/files2/a.pdf", "REF_PATH_NOT_ALLOWED"),
        ("file:///etc/passwd", "REF_PATH_NOT_ALLOWED"),
        ("file:///srv/lucius/files/../a", "REF_PATH_UNSAFE"),
        ("file:///srv/lucius/files/%2e%2e/a", "REF_PATH_UNSAFE"),
        ("file://server/srv/lucius/files/a", "REF_MALFORMED"),
        ("file:///srv/lucius/files/a?b", "REF_MALFORMED"),
    ],
)
def test_files_stay_below_their_root(uri: str, code: str | None) -> None:
    """With a root, files below it may be named and no others; without one, none."""
    assert codes(uri, FILES) == ({code} if code else set())
    assert "REF_SCHEME_NOT_ALLOWED" in codes(uri, RefPolicy(schemes=frozenset({"file", "s3"})))
