from __future__ import annotations

import inspect
import re
import tomllib
from typing import Any, cast

import pytest

from tests.architecture.tree import PACKAGE, ROOT, ports

METHOD_LIMIT = 12
LAYER_NAMES = re.compile(r"lucius\.(\w+)")


def _contracts() -> list[dict[str, Any]]:
    """The import-linter contracts of the project."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return cast("list[dict[str, Any]]", project["tool"]["importlinter"]["contracts"])


def test_every_room_has_its_place_in_the_flow() -> None:
    """A new package under src/lucius is named in the layers contract before it can be used."""
    layers = next(contract["layers"] for contract in _contracts() if contract["type"] == "layers")
    placed = set(LAYER_NAMES.findall(" ".join(layers)))
    rooms = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert rooms - placed == set()


def test_there_are_ports_to_look_at() -> None:
    """The checks below would pass in silence if no port were found."""
    assert {"Ledger", "Bus"} <= {port.__name__ for port in ports()}


@pytest.mark.parametrize("port", ports(), ids=lambda port: port.__name__)
def test_ports_stay_small(port: type) -> None:
    """A port has at most 12 methods, so that a new adapter is a day's work."""
    methods = [
        attribute
        for attribute, value in vars(port).items()
        if inspect.isfunction(value) and attribute[0] != "_"
    ]
    assert 0 < len(methods) <= METHOD_LIMIT


@pytest.mark.parametrize("port", ports(), ids=lambda port: port.__name__)
def test_ports_explain_every_verb(port: type) -> None:
    """Whoever writes an adapter finds the promise of each method in the port."""
    silent = [
        attribute
        for attribute, value in vars(port).items()
        if attribute[0] != "_"
        and (inspect.isfunction(value) or isinstance(value, property))
        and not value.__doc__
    ]
    assert silent == []
