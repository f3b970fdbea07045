"""What a run is told: examples of work for the service, and how patient to be.

From the command line, from one YAML file, or from the service itself when it is a Python object; whoever
speaks later fills in only what is missing. Nothing here is guessed for a service in another language.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec

from lucius.errors import Invalid

Seconds = Annotated[float, msgspec.Meta(gt=0, le=3600)]
Payload = dict[str, Any]


class Options(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a run can be told. A file given with `--with` has these names."""

    step_type: str | None = None
    """None: the one the service asks for first."""
    payload: Payload | None = None
    """A payload the service can work on; `{}` if none is given."""
    bad_payload: Payload | None = None
    any_payload: bool = False
    """The service takes every payload, so none is bad."""
    slow_payload: Payload | None = None
    """One that keeps it busy for longer than the lease."""
    input: str | None = None
    """A file or URI; a small text if none is given."""
    slow_input: str | None = None
    any_input: bool = False
    """The service does not read its input, so a missing one is no failure."""
    inputs: dict[str, str] = {}
    """What earlier steps put out: a file or URI by step id."""
    honours_cancel: bool = False
    """The service says that it stops when the job is cancelled."""
    ack_within: Seconds = 5.0
    work_within: Seconds = 30.0
    """For work that is not slow."""
    slow_within: Seconds = 120.0
    start_within: Seconds = 30.0
    drain_within: Seconds = 30.0
    lease: Seconds = 3.0
    """How long the leases of slow work are."""
    lock: Seconds = 60.0
    quiet: Seconds = 0.5
    """How long to listen for what must not come."""


DEFAULTS = Options()


def merged(given: dict[str, Any], file: dict[str, Any]) -> Options:
    """The options of a command line, and those of a file where the command line is silent."""
    told = {name: value for name, value in given.items() if value is not None and value is not False}
    try:
        return msgspec.convert(file | told, Options)
    except msgspec.ValidationError as error:
        raise Invalid(f"The options do not fit: {error}.", code="BAD_SETTINGS") from error


def read_file(path: Path) -> dict[str, Any]:
    """The options in a YAML file; paths in it are relative to it."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - only who has a file needs a reader
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415 - as above

    try:
        document = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise Invalid(f"The file {path} cannot be read: {error}.", code="FILE_UNREADABLE") from error
    except YAMLError as error:
        raise Invalid(f"The file {path} is not YAML: {error}.", code="BAD_YAML") from error
    if not isinstance(document, dict):
        raise Invalid(f"The file {path} must hold names and values.", code="BAD_YAML")
    for name in ("input", "slow_input"):
        if isinstance(document.get(name), str):
            document[name] = located(document[name], path.parent)
    if isinstance(document.get("inputs"), dict):
        document["inputs"] = {k: located(str(v), path.parent) for k, v in document["inputs"].items()}
    return document


def located(place: str, base: Path) -> str:
    """The URI of a place that may be a file."""
    if "://" in place:
        return place
    path = (base / place).resolve()
    if not path.is_file():
        raise Invalid(f"There is no file {path}.", code="NO_SUCH_FILE")
    return path.as_uri()
