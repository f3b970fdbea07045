"""One name for a service, and the names that follow from it."""

from __future__ import annotations

import importlib.metadata
import keyword
import re
import sys
from typing import Final

import msgspec

from lucius.errors import Invalid

MAX_NAME: Final = 32
MAX_DESCRIPTION: Final = 100
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*", re.ASCII)
_STEP_TYPE: Final = re.compile(r"[A-Z][A-Z0-9_]{0,31}", re.ASCII)
_REQUIREMENT: Final = re.compile(r"[A-Za-z0-9._-]+")
_ALLOWED: Final = f"up to {MAX_NAME} of a-z and 0-9, words joined by -, a letter first, such as word-count"


class Names(msgspec.Struct, frozen=True, kw_only=True):
    """What one service is called in the places that need a name."""

    name: str
    """The project, its folder and the service: `word-count`."""
    package: str
    """The Python package and the step's id: `word_count`."""
    step_type: str
    """What it serves: `WORD_COUNT`."""
    description: str
    """One sentence for people."""


def names_for(name: str, *, step_type: str | None = None, description: str | None = None) -> Names:
    """All names of a service; `Invalid` says what is allowed."""
    if len(name) > MAX_NAME or _NAME.fullmatch(name) is None:
        near = _near(name)
        hint = f" Did you mean {near}?" if near else ""
        raise Invalid(f"{_shown(name)} is no name for a service; write {_ALLOWED}.{hint}", code="BAD_NAME")
    package = name.replace("-", "_")
    if taken := _taken(name, package):
        raise Invalid(f"{name} is no name for a service: {taken}. Choose another.", code="BAD_NAME")
    kind = step_type if step_type is not None else package.upper()
    if _STEP_TYPE.fullmatch(kind) is None:
        raise Invalid(
            f"{_shown(kind)} is no step type; write 1 to 32 of A-Z 0-9 _, a letter first.",
            code="BAD_STEP_TYPE",
        )
    return Names(name=name, package=package, step_type=kind, description=_sentence(description, name))


def _taken(name: str, package: str) -> str | None:
    """Why the package would stand in the way of another one, if it would."""
    if keyword.iskeyword(package) or keyword.issoftkeyword(package):
        return "it is a word of Python"
    if package in sys.stdlib_module_names:
        return "Python has a module of that name"
    if name in {"lucius", "test", "tests", *_required()}:
        return "its tests or Lucius need a package of that name"
    return None


def _required() -> set[str]:
    """The projects Lucius depends on: one of them cannot also be the service."""
    try:
        wanted = importlib.metadata.requires("lucius") or []
    except importlib.metadata.PackageNotFoundError:  # run from its sources
        return set()
    found = (_REQUIREMENT.match(each) for each in wanted)
    return {re.sub(r"[._-]+", "-", match[0]).lower() for match in found if match}


def _sentence(description: str | None, name: str) -> str:
    """The description as it can stand in a docstring, in TOML, in YAML and in Markdown alike."""
    if description is None:
        return f"The {name} service."
    said = description.strip()
    if not said or len(said) > MAX_DESCRIPTION or not said.isprintable() or set('"\\') & set(said):
        raise Invalid(
            f"A description is one line of up to {MAX_DESCRIPTION} characters without double quotes or"
            " backslashes.",
            code="BAD_DESCRIPTION",
        )
    return said if said[-1] in ".!?" else f"{said}."


def _near(name: str) -> str | None:
    """The nearest name that is allowed, when there is one."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name)
    near = re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")
    return near if len(near) <= MAX_NAME and _NAME.fullmatch(near) else None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 2 * MAX_NAME else text[: 2 * MAX_NAME] + "…")
