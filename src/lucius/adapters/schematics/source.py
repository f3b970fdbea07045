"""Finding and reading the files of a configuration directory.

    DIRECTORY/
      lucius.yaml          general settings
      tenants.yaml         tenants
      protocols/*.yaml     one protocol a file

`.yml` and `.json` are read too. A file whose name nobody reads is refused, so that `tenant.yaml`
is a problem and not a silence. Names that start with a dot are left alone.
"""

from __future__ import annotations

import difflib
from pathlib import Path

import msgspec

from lucius.adapters.schematics.reading import MAX_BYTES
from lucius.ports.schematics import ConfigProblem

PROTOCOLS = "protocols"
GENERAL = "lucius"
TENANTS = "tenants"
MAX_FILES = 256
SUFFIXES = frozenset({".yaml", ".yml", ".json"})

Signature = tuple[tuple[str, int, int], ...]
"""Name, modification time and size of each file: cheap to take, and different after an edit."""


class Gathered(msgspec.Struct, frozen=True, kw_only=True):
    """The bytes of a directory's files by name, and what was wrong with the directory itself."""

    files: dict[str, bytes]
    problems: tuple[ConfigProblem, ...] = ()


def signature(directory: Path) -> Signature:
    """What the directory looks like from outside; raises `OSError` when it is out of reach."""
    stats = ((path.relative_to(directory).as_posix(), path.stat()) for path in _candidates(directory))
    return tuple((name, stat.st_mtime_ns, stat.st_size) for name, stat in stats)


def gather(directory: Path) -> Gathered:
    """Every configuration file in the directory."""
    try:
        paths = _candidates(directory)
    except OSError as error:
        return Gathered(files={}, problems=(_unreachable(directory.as_posix(), error),))
    problems = _misplaced(directory, paths)
    if len(paths) > MAX_FILES:
        problem = _problem(directory.as_posix(), f"holds {len(paths)} files", f"keep it within {MAX_FILES}")
        return Gathered(files={}, problems=(*problems, problem))
    files: dict[str, bytes] = {}
    for path in paths:
        name = path.relative_to(directory).as_posix()
        try:
            with path.open("rb") as stream:
                files[name] = stream.read(MAX_BYTES + 1)
        except OSError as error:
            problems.append(_unreachable(name, error))
    return Gathered(files=files, problems=tuple(problems))


def _candidates(directory: Path) -> list[Path]:
    found = _listed(directory)
    below = directory / PROTOCOLS
    if below.exists():
        found += _listed(below)
    return found


def _listed(directory: Path) -> list[Path]:
    return sorted(
        path
        for path in directory.iterdir()
        if path.suffix in SUFFIXES and not path.name.startswith(".") and _readable(path)
    )


def _readable(path: Path) -> bool:
    """A file, or a link that leads nowhere: the latter is an outage to report, not a file less."""
    return path.is_file() or (path.is_symlink() and not path.exists())


def _misplaced(directory: Path, paths: list[Path]) -> list[ConfigProblem]:
    problems: list[ConfigProblem] = []
    seen: dict[str, str] = {}
    for path in paths:
        if path.parent != directory:
            continue
        if path.stem not in {GENERAL, TENANTS}:
            close = difflib.get_close_matches(path.stem, (GENERAL, TENANTS), n=1)
            remedy = f'did you mean "{close[0]}.yaml"?' if close else f"put protocols into {PROTOCOLS}/"
            problems.append(_problem(path.name, "nobody reads a file of this name", remedy))
        elif path.stem in seen:
            problems.append(_problem(path.name, f"says the same as {seen[path.stem]}", "keep one of the two"))
        seen.setdefault(path.stem, path.name)
    return problems


def _unreachable(name: str, error: OSError) -> ConfigProblem:
    said = error.strerror or type(error).__name__
    return _problem(name, f"cannot be read: {said}", "make it readable for this process")


def _problem(name: str, message: str, remedy: str) -> ConfigProblem:
    return ConfigProblem(file=name, line=1, column=1, pointer="", message=message, remedy=remedy)
