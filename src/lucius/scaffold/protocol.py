"""Writes the payload's schema into the protocol that makes a service known.

    python3 -m lucius.scaffold.protocol word_count.service:execute config/protocols/word-count.yaml

The file keeps its comments and its order; every step of the service's type gets the schema. Nothing is
written when the file already has it, or when something is wrong.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lucius.errors import Invalid, LuciusError
from lucius.sdk.serving.service import Service, load


def renew(path: Path, service: Service[Any]) -> bool:
    """Bring the protocol up to date with the payload model; whether there was something to change."""
    from ruamel.yaml import YAML  # noqa: PLC0415 - slow to load, and only needed here
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096  # long lines stay lines
    yaml.indent(mapping=2, sequence=4, offset=2)
    try:
        protocol = yaml.load(path.read_text(encoding="utf-8"))
        steps = [step for step in protocol["steps"] if step["step_type"] == service.step_type]
    except (OSError, UnicodeDecodeError, YAMLError, KeyError, TypeError) as error:
        raise Invalid(f"{path} cannot be read as a protocol: {error}.", code="BAD_PROTOCOL") from None
    if not steps:
        raise Invalid(f"{path} has no step of the type {service.step_type}.", code="NO_SUCH_STEP")
    schema = service.payload_schema()
    old = [step for step in steps if step.get("payload_schema") != schema]
    for step in old:
        step["payload_schema"] = schema
    if old:
        written = io.StringIO()
        yaml.dump(protocol, written)
        path.write_text(written.getvalue(), encoding="utf-8")
    return bool(old)


def main(arguments: Sequence[str]) -> int:
    """What `make protocol` of a generated project runs."""
    if len(arguments) != 2:  # noqa: PLR2004 - a target and a file
        sys.stderr.write("usage: python3 -m lucius.scaffold.protocol PACKAGE.MODULE:NAME PROTOCOL_FILE\n")
        return 2
    target, path = arguments
    try:
        changed = renew(Path(path), load(target))
    except LuciusError as error:
        sys.stderr.write(f"{error.message}\n")
        return 1
    sys.stdout.write(f"{path} {'has the new payload schema' if changed else 'is up to date'}.\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
