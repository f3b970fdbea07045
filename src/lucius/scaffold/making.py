"""Copies the template into a new folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lucius import __version__
from lucius.errors import Invalid, Unavailable
from lucius.scaffold.names import names_for

if TYPE_CHECKING:
    from types import ModuleType

TEMPLATE: Final = Path(__file__).with_name("template")
_FREE: Final = frozenset({".git"})
"""What a folder may hold and still count as empty: a repository that was just made or cloned."""


def make(
    name: str,
    directory: Path,
    *,
    step_type: str | None = None,
    description: str | None = None,
    force: bool = False,
) -> Path:
    """Write the project of a new service to `directory/name`; the folder.

    A folder that holds something is refused, unless `force`: then files of the template replace those of
    the same name, and all others stay.
    """
    names = names_for(name, step_type=step_type, description=description)
    copier = _copier()
    target = directory / names.name
    _check(target, force=force)
    answers: dict[str, Any] = msgspec.to_builtins(names) | {"lucius_version": __version__}
    copier.run_copy(
        str(TEMPLATE),
        target,
        answers,
        defaults=True,
        overwrite=force,
        quiet=True,
        # What a person has set up for copier elsewhere is no business of this template.
        settings=copier.Settings(),
    )
    return target


def _check(target: Path, *, force: bool) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"{target.parent} cannot be used as a folder: {error.strerror}."
        raise Invalid(message, code="NOT_A_FOLDER") from None
    if target.is_dir():
        held = sorted(one.name for one in target.iterdir() if one.name not in _FREE)
        if held and not force:
            some = ", ".join(held[:3]) + (", …" if len(held) > 3 else "")  # noqa: PLR2004 - enough to know it
            raise Invalid(
                f"{target} is not empty ({some}); choose another name or --directory, or say --force to"
                " replace files of the same names.",
                code="FOLDER_NOT_EMPTY",
            )
    elif target.exists() or target.is_symlink():
        raise Invalid(f"{target} is there and is no folder; choose another name.", code="NOT_A_FOLDER")


def _copier() -> ModuleType:
    try:
        import copier  # noqa: PLC0415 - an extra: only who makes a project needs it
    except ModuleNotFoundError as error:
        if error.name != "copier":
            raise
        raise Unavailable(
            "A new project is made with copier, which is not installed: pip install 'lucius[scaffold]'.",
            code="EXTRA_MISSING",
        ) from None
    return copier
