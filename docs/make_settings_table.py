"""Write the settings tables into configuration.md: `python docs/make_settings_table.py`.

Names, types, defaults and bounds come from the class; the words are the docstrings under its fields, the
headings its comments; the options are those of `lucius up`, and of `lucius service` for the services.
"""

from __future__ import annotations

import ast
import inspect
import re
import types
import typing
from pathlib import Path
from typing import Any, Literal

import typer.main
from pydantic import SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from lucius.entrypoints.cli.app import app
from lucius.runtime.engine_settings import EngineSettings
from lucius.runtime.lifebook_settings import LifebookSettings
from lucius.runtime.settings import Settings
from lucius.runtime.storage_settings import StorageSettings
from lucius.sdk.serving.settings import ServiceSettings
from lucius.services.ocr.settings import OcrSettings
from lucius.services.sis.settings import SisSettings

PAGE = Path(__file__).with_name("configuration.md")
START, END = "<!-- settings: start -->", "<!-- settings: end -->"
SERVICE_START, SERVICE_END = "<!-- service settings: start -->", "<!-- service settings: end -->"
SERVICES: dict[str, type[BaseSettings]] = {
    "Every service": ServiceSettings, "The reference OCR": OcrSettings, "The reference SIS": SisSettings
}  # fmt: skip
ROOMS = (Settings, EngineSettings, StorageSettings, LifebookSettings)
_OPTION_OF = {"files_root": "files", "key": "key_file"}
_VARIABLE_OF: dict[tuple[type[BaseSettings], str], str] = {
    (ServiceSettings, "url"): "LUCIUS_URL",
    (ServiceSettings, "key"): "LUCIUS_API_KEY",
}
_TYPES = {
    str: "text", SecretStr: "text", int: "whole number", float: "number", bool: "true or false", Path: "path"
}  # fmt: skip
_BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def tables() -> str:
    """All settings, one table a group."""
    words: dict[str, str] = {}
    groups: dict[str, str] = {}
    for room in ROOMS:
        source = inspect.getsource(room)
        words |= _words(source)
        groups |= _groups(source)
    options = _options("up")
    lines: list[str] = []
    for name in words:
        field = Settings.model_fields[name]
        if name in groups:
            heading = groups[name][0].upper() + groups[name][1:]
            lines += ["", f"### {heading}", "", "| variable | `lucius up` | takes | default | meaning |"]
            lines.append("|---|---|---|---|---|")
        option = options.get(_OPTION_OF.get(name, name), "")
        cells = [f"`LUCIUS_{name.upper()}`", option, _takes(field), _default(field), words[name]]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines[1:])


def service_tables() -> str:
    """The settings of service processes, one table a class."""
    lines: list[str] = []
    for heading, settings in SERVICES.items():
        words = _words(inspect.getsource(settings))
        options = _options("service") if settings is ServiceSettings else {}
        lines += ["", f"### {heading}", "", "| variable | `lucius service` | takes | default | meaning |"]
        lines.append("|---|---|---|---|---|")
        for name, field in settings.model_fields.items():
            option = options.get(_OPTION_OF.get(name, name), "")
            cells = [f"`{variable(settings, name)}`", option, _takes(field), _default(field), words[name]]
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines[1:])


def variable(settings: type[BaseSettings], name: str) -> str:
    """The environment variable of a setting."""
    return _VARIABLE_OF.get((settings, name), f"{settings.model_config['env_prefix']}{name.upper()}")


def _words(source: str) -> dict[str, str]:
    """Field name to the docstring below it."""
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)  # noqa: S101 - it is one
    found: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        described = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and described:
            told = " ".join(str(below.value.value).split())  # type: ignore[attr-defined]
            found[field.target.id] = told.replace("None:", "unset:")
    return found


def _groups(source: str) -> dict[str, str]:
    """The first field of each group to the group's comment."""
    return {name: comment for comment, name in re.findall(r"^    # (.+)\n    (\w+):", source, re.MULTILINE)}


def _options(name: str) -> dict[str, str]:
    """Parameter of a command to its option."""
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    return {one.name: f"`{max(one.opts, key=len)}`" for one in command.params if one.name != "help"}


def _takes(field: FieldInfo) -> str:
    kind: Any = field.annotation
    if isinstance(kind, types.UnionType):
        (kind,) = [one for one in typing.get_args(kind) if one is not type(None)]
    if typing.get_origin(kind) is Literal:
        return ", ".join(f"`{one}`" for one in typing.get_args(kind))
    found = [
        f"{sign} {getattr(bound, name)}" for bound in field.metadata for name, sign in _BOUNDS.items()
        if hasattr(bound, name)
    ]  # fmt: skip
    return f"{_TYPES[kind]} {', '.join(found)}".strip()


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if value is None or value == "":
        return "–"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _put(page: str, start: str, end: str, text: str) -> str:
    return re.sub(f"{start}.*{end}", lambda _: f"{start}\n{text}\n{end}", page, flags=re.DOTALL)


def main() -> None:
    """Replace what stands between the markers."""
    old = PAGE.read_text(encoding="utf-8")
    new = _put(old, START, END, tables())
    new = _put(new, SERVICE_START, SERVICE_END, service_tables())
    PAGE.write_text(new, encoding="utf-8")
    print("unchanged" if new == old else "rewritten", PAGE.name)


if __name__ == "__main__":
    main()
