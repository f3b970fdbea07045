"""The source tree as the architecture tests see it."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "lucius"
TEXT = frozenset(
    {".py", ".md", ".toml", ".yaml", ".yml", ".json", ".lock", ".html", ".css", ".js", ".sql", ""}
)


def sources(below: Path = PACKAGE) -> list[Path]:
    """Every Python file below a directory."""
    return sorted(path for path in below.rglob("*.py") if "__pycache__" not in path.parts)


def name(path: Path) -> str:
    """A path the way a person would say it."""
    return path.relative_to(ROOT).as_posix()


def parse(path: Path) -> ast.Module:
    """The syntax tree of one file."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(path: Path) -> Iterator[str]:
    """The dotted names a file imports, at any depth of the code."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of a file, nested ones too."""
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def published() -> list[Path]:
    """Every text file that belongs to the project, without asking git."""
    top = [path for path in ROOT.iterdir() if path.is_file() and (path.suffix in TEXT)]
    rooms = ("src", "tests", "bench", "docs", "protocols", "examples", "deploy", ".ci")
    inside = [
        path
        for room in rooms
        if (ROOT / room).is_dir()
        for path in (ROOT / room).rglob("*")
        if path.is_file()
    ]
    return sorted(path for path in top + inside if path.suffix in TEXT and "__pycache__" not in path.parts)


def ports() -> list[type]:
    """Every Protocol that the ports room defines."""
    found = []
    for path in sources(PACKAGE / "ports"):
        module = importlib.import_module(
            f"lucius.ports.{path.stem}" if path.stem != "__init__" else "lucius.ports"
        )
        for _, value in inspect.getmembers(module, inspect.isclass):
            if value.__module__ == module.__name__ and getattr(value, "_is_protocol", False):
                found.append(value)
    return found
