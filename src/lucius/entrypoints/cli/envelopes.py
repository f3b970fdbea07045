"""From what stands on the command line to a command envelope.

SOURCE is a JSON object, `-` for stdin, the path of an envelope file (JSON or YAML), or a document:
a path or a URI. Of a document an envelope is made, with defaults for everything not said; options
always win over what a file says. Nothing is checked here that the server checks better.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from lucius.errors import Invalid

DEFAULT_TENANT = "default"
DEFAULT_TYPE = "OCR_EMBEDDING_SIS"
"""What is done with a document when nothing is said: read it, embed it, answer questions about it."""
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_ENVELOPE_FILES = frozenset({".json", ".yaml", ".yml"})
_ENVELOPE_FIELDS = frozenset({"tenant_id", "request_type", "input_ref", "output_ref", "schema_version"})


def build(source: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The envelope that SOURCE and the options ask for."""
    envelope, document = _start(source)
    envelope.update({name: value for name, value in given.items() if value is not None})
    envelope.setdefault("tenant_id", os.environ.get("LUCIUS_TENANT") or DEFAULT_TENANT)
    envelope.setdefault("payload", {})
    envelope.setdefault("schema_version", "1")
    if document:
        envelope.setdefault("request_type", DEFAULT_TYPE)
    if "request_type" not in envelope:
        raise Invalid("Say what is to be done with --type, such as --type OCR.", code="TYPE_REQUIRED")
    if "output_ref" not in envelope and isinstance(ref := envelope.get("input_ref"), dict):
        envelope["output_ref"] = {"uri": _beside(str(ref.get("uri", "")))}
    return envelope


def reference(text: str | None) -> dict[str, str] | None:
    """A URI or a path as a reference."""
    if text is None:
        return None
    if _URI.match(text):
        return {"uri": text}
    uri = Path(text).expanduser().absolute().as_uri()
    return {"uri": uri + "/" if text.endswith("/") else uri}


def parse_payload(text: str | None) -> dict[str, Any] | None:
    """The payload: JSON, or `@FILE` with JSON or YAML in it."""
    if text is None:
        return None
    value = _document(_read(Path(text[1:])), text[1:]) if text.startswith("@") else _json(text, "--payload")
    if not isinstance(value, dict):
        raise Invalid("--payload must be a JSON object with one section a step.", code="BAD_PAYLOAD")
    return value


def ask(
    payload: dict[str, Any] | None, prompts: list[str] | None, stored: str | None
) -> dict[str, Any] | None:
    """The payload with questions for the `sis` step: the prompts themselves, or the name of a stored set."""
    if not prompts and stored is None:
        return payload
    if prompts and stored is not None:
        raise Invalid("Ask with --prompt or name a stored set with --prompts, not both.", code="BAD_PAYLOAD")
    asked = dict(payload or {})
    section = asked.get("sis", {})
    if not isinstance(section, dict) or "prompt_set" in section:
        message = "--payload asks questions already (sis.prompt_set); leave --prompt and --prompts out."
        raise Invalid(message, code="BAD_PAYLOAD")
    return asked | {"sis": section | {"prompt_set": prompts or stored}}


def local_document(source: str) -> Path | None:
    """The file that SOURCE names, if it is a document on this machine."""
    path = Path(source).expanduser()
    return path.absolute() if _is_path(source) and path.exists() else None


def _is_path(source: str) -> bool:
    return source != "-" and not source.lstrip().startswith("{") and not _URI.match(source)


def _start(source: str) -> tuple[dict[str, Any], bool]:
    """What SOURCE says, and whether it is a document."""
    if source == "-":
        return _object(_document(sys.stdin.read(), "stdin"), "stdin"), False
    if source.lstrip().startswith("{"):
        return _object(_json(source, "the argument"), "the argument"), False
    if _URI.match(source):
        return {"input_ref": {"uri": source}}, True
    path = Path(source).expanduser()
    if not path.exists():
        message = f"{source} is neither a file, nor a URI, nor a JSON object."
        raise Invalid(message, code="NO_SUCH_FILE")
    if path.is_dir():
        raise Invalid(f"{source} is a directory; a job takes one document.", code="NO_SUCH_FILE")
    if path.suffix.lower() in _ENVELOPE_FILES and path.is_file():
        document = _document(_read(path), source)
        if isinstance(document, dict) and not _ENVELOPE_FIELDS.isdisjoint(document):
            return document, False
    return {"input_ref": reference(source)}, True


def _beside(uri: str) -> str:
    """A place for results next to the input: `…/report.pdf` → `…/report.pdf.out/`."""
    return uri.partition("?")[0].rstrip("/") + ".out/"


def _read(path: Path) -> str:
    try:
        return path.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"{path} cannot be read: {error}.", code="FILE_UNREADABLE") from None


def _json(text: str, where: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise Invalid(f"{where} is not JSON: {error}.", code="BAD_JSON") from None


def _document(text: str, where: str) -> Any:
    """JSON, or YAML when it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        if text.lstrip().startswith("{"):
            raise Invalid(f"{where} is not JSON: {error}.", code="BAD_JSON") from None
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        reason = " ".join(str(error).split())
        raise Invalid(f"{where} is neither JSON nor YAML: {reason}.", code="BAD_YAML") from None


def _object(value: Any, where: str) -> dict[str, Any]:
    if isinstance(value, dict):
        return value
    raise Invalid(f"{where} must hold one object, the command.", code="BAD_ENVELOPE")
