from __future__ import annotations

import ast
import sys

from tests.architecture.tree import PACKAGE, ROOT, functions, imports, name, parse, sources

FILE_LIMIT = 400
FUNCTION_AIM = 40
FUNCTION_LIMIT = 60
SHARE_OVER_AIM = 0.02
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager", "managers", "shared", "base"}
CORE_MAY_IMPORT = {"msgspec", "rfc8785"}


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of a function without its docstring: documentation is not length."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines


def test_no_source_file_outgrows_its_duty() -> None:
    """A file under src stays at or below 400 lines."""
    long = {name(path): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert {path: lines for path, lines in long.items() if lines > FILE_LIMIT} == {}


def test_functions_stay_readable() -> None:
    """No function passes 60 lines, and at most 2 % of them pass 40."""
    lengths = {
        f"{name(path)}:{node.lineno} {node.name}": _length(node)
        for path in sources()
        for node in functions(path)
    }
    over_aim = {where: lines for where, lines in lengths.items() if lines > FUNCTION_AIM}
    assert {where: lines for where, lines in over_aim.items() if lines > FUNCTION_LIMIT} == {}
    assert len(over_aim) <= SHARE_OVER_AIM * len(lengths), over_aim


def test_names_say_what_a_part_is_for() -> None:
    """No module or package is called utils, helpers, common, manager and the like."""
    vague = [name(path) for path in sources() if VAGUE & {path.stem, *path.relative_to(PACKAGE).parts}]
    assert vague == []


def test_every_module_says_what_it_is() -> None:
    """Each file under src opens with a docstring."""
    assert [name(path) for path in sources() if ast.get_docstring(parse(path)) is None] == []


def test_every_directory_with_code_is_a_package() -> None:
    """A forgotten __init__.py would hide a room from import-linter."""
    holders = {parent for path in sources() for parent in path.parents if parent.is_relative_to(PACKAGE)}
    bare = {name(holder) for holder in holders if not (holder / "__init__.py").exists()}
    assert bare == set()


def test_the_core_imports_almost_nothing() -> None:
    """The core knows the standard library, msgspec, rfc8785, the error tree and itself."""
    strange = set()
    for path in sources(PACKAGE / "core"):
        for imported in imports(path):
            top = imported.split(".")[0]
            own = imported in {"lucius", "lucius.errors"} or imported.startswith("lucius.core")
            if not own and top not in CORE_MAY_IMPORT and top not in sys.stdlib_module_names:
                strange.add(f"{name(path)} imports {imported}")
    assert strange == set()


def test_every_test_states_its_promise() -> None:
    """Each test has a docstring: the promise it keeps."""
    silent = [
        f"{name(path)}::{node.name}"
        for path in sources(ROOT / "tests")
        if path.name.startswith("test_")
        for node in functions(path)
        if node.name.startswith("test_") and ast.get_docstring(node) is None
    ]
    assert silent == []


def test_no_test_is_skipped_or_rerun() -> None:
    """A skip hides a missing component, a rerun hides a race: the suite has neither."""
    banned = {"skip", "skipif", "importorskip", "flaky", "xfail"}
    found = [
        f"{name(path)}:{node.lineno} {node.attr}"
        for path in sources(ROOT / "tests")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Attribute) and node.attr in banned
    ]
    assert found == []


def test_test_files_have_unique_names() -> None:
    """Two test files of one name are confused in every report."""
    seen: dict[str, list[str]] = {}
    for path in sources(ROOT / "tests"):
        if path.name.startswith("test_"):
            seen.setdefault(path.name, []).append(name(path))
    assert {file: paths for file, paths in seen.items() if len(paths) > 1} == {}
