"""The `refs` section, general or of one tenant."""

from __future__ import annotations

import re

from lucius.adapters.schematics.section import Section
from lucius.core.refs import DEFAULT_SCHEMES, RefPolicy, RefRules

_SCHEME = re.compile("|".join(sorted(DEFAULT_SCHEMES)))
_SCHEME_FORM = f"write some of {', '.join(sorted(DEFAULT_SCHEMES))}; file: needs file_root instead"
_HOST = re.compile(r"(?:[a-z][a-z0-9]{1,9}://)?[a-z0-9*?$][a-z0-9@._*?$-]{0,252}")
_HOST_FORM = (
    'write host or bucket names in small letters, with * for any, such as "*.example.com" or "s3://docs-*"'
)
_SEGMENT = r"(?!\.\.?(?:/|\Z))[^\s/\\%?#]+"
_PREFIX = re.compile(rf"/(?:{_SEGMENT}(?:/{_SEGMENT})*/?)?")
_PREFIX_FORM = 'write paths such as "/inbox" or "/{tenant}", without .. or escapes'
_LISTS = ("schemes", "hosts", "prefixes")


def build_ref_policy(holder: Section) -> RefPolicy:
    """The general policy: the built-in one with what the `refs` section says."""
    section = holder.section("refs")
    if section is None:
        return RefPolicy()
    section.only(*_LISTS, "file_root")
    rules = _rules(section)
    built_in = RefPolicy()
    root = section.text("file_root", pattern=_PREFIX, form="write an absolute path, without .. or escapes")
    if root == "/":
        section.wrong("file_root", "is the whole file system", "write a directory below it")
    return RefPolicy(
        schemes=built_in.schemes if rules.schemes is None else rules.schemes,
        hosts=built_in.hosts if rules.hosts is None else rules.hosts,
        prefixes=built_in.prefixes if rules.prefixes is None else rules.prefixes,
        file_root=root or None,
    )


def build_ref_rules(holder: Section) -> RefRules:
    """What is different for one tenant."""
    section = holder.section("refs")
    if section is None:
        return RefRules()
    section.only(*_LISTS)
    return _rules(section)


def _rules(section: Section) -> RefRules:
    return RefRules(
        schemes=frozenset(section.texts("schemes", (), _SCHEME, _SCHEME_FORM))
        if "schemes" in section
        else None,
        hosts=section.texts("hosts", (), _HOST, _HOST_FORM) if "hosts" in section else None,
        prefixes=section.texts("prefixes", (), _PREFIX, _PREFIX_FORM) if "prefixes" in section else None,
    )
