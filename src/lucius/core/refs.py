"""Whether a reference may be handed to a service: an object with a `uri`, judged by its spelling.

No state, no I/O: Lucius never reads what a reference points at. Refused are schemes, hosts and paths
outside the allow-lists, places that are not public, paths that could mean another place, and
credentials in any form (a reference is stored, logged and sent on). Messages never repeat the URI.
Symbolic links below `file_root` are for the service that opens the file to refuse.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from lucius.core.hosts import why_not_public
from lucius.core.pointer import Findings, child
from lucius.core.uris import Uri, decode, split_uri, unsafe_path
from lucius.errors import Problem

MAX_URI = 2048
MAX_REF = 8 * 1024
DEFAULT_SCHEMES = frozenset({"s3", "az", "abfs", "abfss", "gs", "https"})

_CONTAINER = re.compile(r"(?:[a-z0-9]|\$(?=root\Z|web\Z|logs\Z))[a-z0-9._-]{0,221}")
_PORT = re.compile(
    r":(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6(?:[0-4][0-9]{3}|5(?:[0-4][0-9]{2}|5(?:[0-2][0-9]|3[0-5]))))\Z"
)
_CREDENTIAL = re.compile(
    r"sig|signature|.*token|.*secret|.*passw(or)?d|pwd|.*credentials?|.*accesskey(id)?|.*accountkey|.*apikey"
    r"|.*privatekey|.*connectionstring|sas|auth|authorization|googleaccessid|bearer|jwt|amzsignature|googsignature"
)


class RefRules(msgspec.Struct, frozen=True, kw_only=True):
    """What one tenant may name; None leaves the global list standing."""

    schemes: frozenset[str] | None = None
    hosts: tuple[str, ...] | None = None
    prefixes: tuple[str, ...] | None = None


class RefPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What references may name. `tenants` is by normalised tenant id and replaces list by list."""

    schemes: frozenset[str] = DEFAULT_SCHEMES
    hosts: tuple[str, ...] = ()
    """Patterns with `*` for hosts, buckets and containers, or `scheme://pattern`; empty: any public one."""
    prefixes: tuple[str, ...] = ()
    """Paths everything must lie below, `{tenant}` standing for the tenant; empty: any."""
    tenants: dict[str, RefRules] = {}
    file_root: str | None = None
    """The directory `file:` may name places in; None: `file:` is refused."""


def check_ref(ref: Any, policy: RefPolicy, tenant: str, pointer: str) -> list[Problem]:
    """Everything that is wrong with a reference; empty if it may be used."""
    findings = Findings()
    where = child(pointer, "uri")
    if type(ref) is not dict:
        findings.note(pointer, "WRONG_TYPE", "A reference must be an object with a uri.")
    elif type(uri := ref.get("uri")) is not str or not uri:
        findings.note(where, "REF_URI_REQUIRED", "A reference needs a uri, a string.")
    elif len(uri) > MAX_URI:
        findings.note(where, "REF_URI_TOO_LONG", f"The uri may have {MAX_URI} characters.")
    elif (parts := split_uri(uri)) is None:
        message = "The uri must be scheme://place/path: printable, properly escaped, without fragment."
        findings.note(where, "REF_MALFORMED", message)
    else:
        _check_uri(parts, policy, tenant, where, findings)
    if type(ref) is dict and len(ref) > 1:
        _check_metadata(ref, pointer, findings)
    return list(findings.problems)


def _check_uri(uri: Uri, policy: RefPolicy, tenant: str, where: str, findings: Findings) -> None:
    own = policy.tenants.get(tenant, _NOTHING_SET)
    schemes = policy.schemes if own.schemes is None else own.schemes
    if uri.scheme == "file" and policy.file_root is not None:
        _check_file(uri, policy.file_root, where, findings)
    elif uri.scheme not in schemes or uri.scheme == "file":
        findings.note(
            where, "REF_SCHEME_NOT_ALLOWED", f"The scheme must be one of {', '.join(sorted(schemes))}."
        )
    elif place := _place(uri, where, findings):
        hosts = policy.hosts if own.hosts is None else own.hosts
        if hosts and not any(_matches(uri.scheme, place, pattern) for pattern in hosts):
            findings.note(where, "REF_HOST_NOT_ALLOWED", "The host or container is not on the allow-list.")
    if reason := unsafe_path(uri.path):
        findings.note(where, "REF_PATH_UNSAFE", f"The path {reason}.")
    elif uri.scheme != "file":
        prefixes = policy.prefixes if own.prefixes is None else own.prefixes
        if prefixes and not any(_below(uri.path, prefix.replace("{tenant}", tenant)) for prefix in prefixes):
            findings.note(where, "REF_PATH_NOT_ALLOWED", "The path is not below an allowed prefix.")
    if uri.query and any(_is_credential(part.partition("=")[0]) for part in re.split("[&;]", uri.query)):
        findings.note(where, "REF_CREDENTIALS", "The query holds credentials; services bring their own.")


def _place(uri: Uri, where: str, findings: Findings) -> str:
    """The host or container in its comparable form; empty if it was refused."""
    container, at, host = uri.authority.rpartition("@")
    if at and (uri.scheme not in {"abfs", "abfss"} or not _CONTAINER.fullmatch(container)):
        findings.note(where, "REF_CREDENTIALS", "The uri must not hold a user or password.")
        return ""
    if uri.scheme == "https" or at:
        host = _PORT.sub("", host).lower()
        if reason := why_not_public(host):
            findings.note(where, "REF_HOST_NOT_PUBLIC", f"The host {reason}.")
            return ""
        return f"{container}{at}{host.removesuffix('.')}"
    # A bucket is no host, but some clients make one of it: one that reads as an address is refused too.
    if not _CONTAINER.fullmatch(host) or ("." in host and why_not_public(host)) or host == "localhost":
        findings.note(where, "REF_MALFORMED", "The bucket or container has no acceptable name.")
        return ""
    return host


def _check_file(uri: Uri, root: str, where: str, findings: Findings) -> None:
    if uri.authority not in {"", "localhost"} or uri.query:
        findings.note(where, "REF_MALFORMED", "A file uri is file:///path, with nothing else in it.")
    elif not _below(uri.path, root) or uri.path.rstrip("/") == root.rstrip("/"):
        findings.note(where, "REF_PATH_NOT_ALLOWED", "The path is not below the directory files may lie in.")


def _below(path: str, prefix: str) -> bool:
    """Whether the path, as sent and decoded, is `prefix` or lies below it; whole segments count."""
    base = "/" + prefix.strip("/")
    floor = base.rstrip("/") + "/"
    forms = (path, decode(path) or "") if "%" in path else (path,)
    return all(form == base or form.startswith(floor) for form in forms)


def _matches(scheme: str, place: str, pattern: str) -> bool:
    return fnmatchcase(f"{scheme}://{place}" if "://" in pattern else place, pattern)


def _is_credential(name: str) -> bool:
    plain = (decode(name) or "").lower().replace("-", "").replace("_", "")
    return (
        _CREDENTIAL.fullmatch(plain.removeprefix("x")) is not None or _CREDENTIAL.fullmatch(plain) is not None
    )


def _check_metadata(ref: dict[str, Any], pointer: str, findings: Findings) -> None:
    if len(msgspec.json.encode(ref)) > MAX_REF:
        findings.note(pointer, "REF_TOO_LARGE", f"A reference may take {MAX_REF} bytes of JSON.")
        return
    for name in ref:
        if _is_credential(name):
            findings.note(child(pointer, name), "REF_CREDENTIALS", "A reference must not hold credentials.")


_NOTHING_SET = RefRules()
