"""Hostile webhook URLs: each one must be refused, by its text or by what its host resolves to.

`answers` empty: the text alone must be refused. Otherwise the text may pass, and the delivery must
be refused when DNS answers so. Public, so that deployments can try their own guards on it.
"""

from __future__ import annotations

import msgspec


class HostileUrl(msgspec.Struct, frozen=True, kw_only=True):
    """A URL and the trick it plays."""

    trick: str
    url: str
    answers: tuple[str, ...] = ()


_BY_TEXT: tuple[tuple[str, str], ...] = (
    ("plain http", "http://hooks.example.com/in"),
    ("file scheme", "file:///etc/passwd"),
    ("gopher scheme", "gopher://hooks.example.com:443/_x"),
    ("ftp scheme", "ftp://hooks.example.com/in"),
    ("no scheme", "//hooks.example.com/in"),
    ("relative", "/in"),
    ("empty", ""),
    ("no host", "https:///in"),
    ("one slash", "https:/hooks.example.com/in"),
    ("loopback", "https://127.0.0.1/in"),
    ("loopback elsewhere in its block", "https://127.8.9.10/in"),
    ("loopback, plain http", "http://127.0.0.1:8700/v1/admin"),
    ("loopback name", "https://localhost/in"),
    ("loopback name, capitals", "https://LocalHost/in"),
    ("loopback name, trailing dot", "https://localhost./in"),
    ("name below localhost", "https://hooks.localhost/in"),
    ("one label", "https://intranet/in"),
    ("decimal loopback", "https://2130706433/in"),
    ("hex loopback", "https://0x7f000001/in"),
    ("octal loopback", "https://017700000001/in"),
    ("dotted octal", "https://0177.0.0.1/in"),
    ("dotted hex", "https://0x7f.0x0.0x0.0x1/in"),
    ("mixed bases", "https://0x7f.0.1/in"),
    ("short form, two parts", "https://127.1/in"),
    ("short form, three parts", "https://10.0.1/in"),
    ("padded zeros", "https://127.000.000.001/in"),
    ("overflowing part", "https://256.256.256.256/in"),
    ("address, trailing dot", "https://127.0.0.1./in"),
    ("zero", "https://0/in"),
    ("unspecified", "https://0.0.0.0/in"),
    ("private 10", "https://10.1.2.3/in"),
    ("private 172.16", "https://172.16.0.1/in"),
    ("private 192.168", "https://192.168.1.1/in"),
    ("cloud metadata", "https://169.254.169.254/latest/meta-data/"),
    ("container metadata", "https://169.254.170.2/v2/credentials"),
    ("metadata, decimal", "https://2852039166/latest/meta-data/"),
    ("metadata by name", "https://metadata.google.internal/computeMetadata/v1/"),
    ("Alibaba metadata (CGNAT)", "https://100.100.100.200/latest/meta-data/"),
    ("Oracle metadata", "https://192.0.0.192/opc/v2/"),
    ("Azure wire server", "https://168.63.129.16/machine?comp=goalstate"),
    ("carrier-grade NAT", "https://100.64.0.1/in"),
    ("benchmarking", "https://198.18.0.1/in"),
    ("documentation", "https://203.0.113.7/in"),
    ("multicast", "https://224.0.0.1/in"),
    ("reserved", "https://240.0.0.1/in"),
    ("broadcast", "https://255.255.255.255/in"),
    ("6to4 relay", "https://192.88.99.1/in"),
    ("IPv6 loopback", "https://[::1]/in"),
    ("IPv6 loopback in full", "https://[0:0:0:0:0:0:0:1]/in"),
    ("IPv6 unspecified", "https://[::]/in"),
    ("IPv4-mapped", "https://[::ffff:127.0.0.1]/in"),
    ("IPv4-mapped in hex", "https://[::ffff:7f00:1]/in"),
    ("IPv4-mapped public", "https://[::ffff:8.8.8.8]/in"),
    ("IPv4-compatible", "https://[::127.0.0.1]/in"),
    ("NAT64", "https://[64:ff9b::7f00:1]/in"),
    ("NAT64, dotted", "https://[64:ff9b::169.254.169.254]/in"),
    ("local NAT64", "https://[64:ff9b:1::a00:1]/in"),
    ("6to4", "https://[2002:7f00:1::]/in"),
    ("Teredo", "https://[2001:0:7f00:1::1]/in"),
    ("ISATAP", "https://[2606:4700::5efe:10.0.0.1]/in"),
    ("unique-local", "https://[fd00:ec2::254]/latest/"),
    ("link-local", "https://[fe80::1]/in"),
    ("link-local with zone", "https://[fe80::1%25eth0]/in"),
    ("site-local", "https://[fec0::1]/in"),
    ("IPv6 multicast", "https://[ff02::1]/in"),
    ("IPv6 documentation", "https://[2001:db8::1]/in"),
    ("IPv6 without brackets", "https://::1/in"),
    ("name in brackets", "https://[localhost]/in"),
    ("IPv4 in brackets", "https://[127.0.0.1]/in"),
    ("fullwidth digits", "https://１２７.０.０.１/in"),
    ("circled letters", "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/in"),
    ("ideographic full stop", "https://127。0。0。1/in"),
    ("Cyrillic look-alike", "https://hооks.example.com/in"),
    ("soft hyphen", "https://local\u00adhost/in"),
    ("percent-encoded host", "https://%6c%6f%63%61%6c%68%6f%73%74/in"),
    ("percent-encoded dot", "https://127%2e0%2e0%2e1/in"),
    ("user name", "https://hooks.example.com@127.0.0.1/in"),
    ("user name and password", "https://user:secret@hooks.example.com/in"),
    ("empty user", "https://@hooks.example.com/in"),
    ("backslash before at", "https://hooks.example.com\\@127.0.0.1/in"),
    ("backslash as slash", "https:\\\\127.0.0.1\\in"),
    ("fragment before at", "https://hooks.example.com#@127.0.0.1/in"),
    ("fragment", "https://hooks.example.com/in#x"),
    ("leading blank", " https://hooks.example.com/in"),
    ("trailing newline", "https://hooks.example.com/in\n"),
    ("header injection", "https://hooks.example.com/in\r\nX-Admin: 1"),
    ("tab in host", "https://local\thost/in"),
    ("null byte", "https://hooks.example.com\x00.evil.example/in"),
    ("blank in host", "https://hooks example.com/in"),
    ("trailing dot", "https://hooks.example.com./in"),
    ("empty label", "https://hooks..example.com/in"),
    ("leading dot", "https://.example.com/in"),
    ("label too long", f"https://{'a' * 64}.example.com/in"),
    ("name too long", f"https://{'a.' * 130}com/in"),
    ("numeric last label", "https://hooks.example.1/in"),
    ("hex last label", "https://hooks.example.0x7f/in"),
    ("reverse zone", "https://1.0.0.127.in-addr.arpa/in"),
    ("mDNS name", "https://printer.local/in"),
    ("ssh port", "https://hooks.example.com:22/in"),
    ("redis port", "https://hooks.example.com:6379/in"),
    ("plain port with TLS", "https://hooks.example.com:80/in"),
    ("port zero", "https://hooks.example.com:0/in"),
    ("port too high", "https://hooks.example.com:65979/in"),
    ("padded port", "https://hooks.example.com:0443/in"),
    ("empty port", "https://hooks.example.com:/in"),
    ("signed port", "https://hooks.example.com:+443/in"),
    ("two ports", "https://hooks.example.com:443:22/in"),
    ("Arabic digits in port", "https://hooks.example.com:٤٤٣/in"),
    ("very long", "https://hooks.example.com/" + "a" * 4096),
)

_BY_ANSWER: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("wildcard DNS to loopback", "https://127.0.0.1.nip.io/in", ("127.0.0.1",)),
    ("name for metadata", "https://meta.evil.example.com/in", ("169.254.169.254",)),
    ("name for private", "https://a.evil.example.com/in", ("10.0.0.8",)),
    ("public first, private second", "https://b.evil.example.com/in", ("93.184.216.34", "192.168.0.1")),
    ("private first, public second", "https://c.evil.example.com/in", ("172.31.255.1", "93.184.216.34")),
    ("mapped loopback", "https://d.evil.example.com/in", ("::ffff:127.0.0.1",)),
    ("NAT64 metadata", "https://e.evil.example.com/in", ("64:ff9b::a9fe:a9fe",)),
    ("6to4 private", "https://f.evil.example.com/in", ("2002:a00:1::1",)),
    ("public IPv4, local IPv6", "https://g.evil.example.com/in", ("93.184.216.34", "fd00::1")),
    ("link-local with zone", "https://h.evil.example.com/in", ("fe80::1%eth0",)),
    ("global with zone", "https://i.evil.example.com/in", ("2606:4700::1111%1",)),
    ("unspecified", "https://j.evil.example.com/in", ("0.0.0.0",)),  # noqa: S104
    ("carrier-grade NAT", "https://k.evil.example.com/in", ("100.127.255.254",)),
    ("Azure wire server", "https://l.evil.example.com/in", ("168.63.129.16",)),
    ("not an address", "https://m.evil.example.com/in", ("0177.0.0.1",)),
    ("punycode host, private", "https://xn--hks-hoa.example.com/in", ("192.168.7.7",)),
)

HOSTILE_URLS: tuple[HostileUrl, ...] = (
    *(HostileUrl(trick=trick, url=url) for trick, url in _BY_TEXT),
    *(HostileUrl(trick=trick, url=url, answers=answers) for trick, url, answers in _BY_ANSWER),
)

#: URLs and answers that must pass, or a guard that refuses everything would look good.
HARMLESS_URLS: tuple[HostileUrl, ...] = (
    HostileUrl(trick="plain", url="https://hooks.example.com/in", answers=("93.184.216.34",)),
    HostileUrl(trick="no path", url="https://hooks.example.com", answers=("93.184.216.34",)),
    HostileUrl(trick="query only", url="https://hooks.example.com?a=b&c=%20", answers=("1.1.1.1",)),
    HostileUrl(trick="capitals", url="HTTPS://Hooks.Example.COM/In", answers=("1.1.1.1",)),
    HostileUrl(trick="other port", url="https://hooks.example.com:8443/in", answers=("1.1.1.1",)),
    HostileUrl(trick="IPv4", url="https://8.8.8.8/in", answers=("8.8.8.8",)),
    HostileUrl(trick="IPv6", url="https://[2606:4700::1111]:443/in", answers=("2606:4700::1111",)),
    HostileUrl(
        trick="punycode", url="https://xn--bcher-kva.example.com/", answers=("1.1.1.1", "2606:4700::1111")
    ),
    HostileUrl(trick="at in query", url="https://hooks.example.com/in?mail=a@b.c", answers=("1.1.1.1",)),
    HostileUrl(trick="number in name", url="https://1.2.3.4.example.com/", answers=("1.1.1.1",)),
)
