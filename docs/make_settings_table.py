"""Write the settings tables into configuration.md: `python docs/make_settings_table.py`.

Names, types, defaults and bounds come from the class; the words are the docstrings under its fields, the
headings its comments; the options are those of `lucius up`.
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
from pydantic.fields import FieldInfo

from lucius.entrypoints.cli.app import app
from lucius.runtime.settings import Settings

PAGE = Path(__file__).with_name("configuration.md")
START, END = "<!-- settings: start -->", "<!-- settings: end -->"
_OPTION_OF = {"files_root": "files"}
_TYPES = {str: "text", int: "whole number", float: "number", bool: "true or false", Path: "path"}
_BOUNDS = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}


def tables() -> str:
    """All settings, one table a group."""
    source = inspect.getsource(Settings)
    words, groups = _words(source), _groups(source)
    options = _options()
    lines: list[str] = []
    for name, field in Settings.model_fields.items():
        if name in groups:
            heading = groups[name].capitalize()
            lines += ["", f"### {heading}", "", "| variable | `lucius up` | takes | default | meaning |"]
            lines.append("|---|---|---|---|---|")
        option = options.get(_OPTION_OF.get(name, name), "")
        cells = [f"`LUCIUS_{name.upper()}`", option, _takes(field), _default(field), words[name]]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines[1:])


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


def _options() -> dict[str, str]:
    """Parameter of `lucius up` to its option."""
    up = typer.main.get_command(app).commands["up"]  # type: ignore[attr-defined]
    return {one.name: f"`{max(one.opts, key=len)}`" for one in up.params if one.name != "help"}


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
    value = field.default
    if value is None or value == "":
        return "–"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def main() -> None:
    """Replace what stands between the two markers."""
    old = PAGE.read_text(encoding="utf-8")
    new = re.sub(f"{START}.*{END}", lambda _: f"{START}\n{tables()}\n{END}", old, flags=re.DOTALL)
    PAGE.write_text(new, encoding="utf-8")
    print("unchanged" if new == old else "rewritten", PAGE.name)


if __name__ == "__main__":
    main()
