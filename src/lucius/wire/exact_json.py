"""The slow reader: finds every fault of a JSON text and the pointer it sits at.

No state. Nothing is repaired: a text with any fault is refused as a whole. What is not JSON at all
is 400; JSON that two programs could read differently (a key twice, a number no double holds, half a
character) or that is too deep is 422.
"""

from __future__ import annotations

import json
import math
import re
from functools import reduce
from typing import Any, NoReturn

from lucius.core.pointer import Findings, child
from lucius.errors import Invalid, Problem

SAFE_INTEGER = 2**53 - 1
"""The largest integer every JSON reader agrees on (RFC 7493)."""

_BRACKETS = re.compile(r'"(?:[^"\\]+|\\.)*"?|([\[{])|([\]}])', re.DOTALL)
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_INTEGER = len(str(-SAFE_INTEGER))


_Path = tuple[str | int, ...]
"""Names down to a node. Made a pointer only when it is told: keys may be as long as the body."""


class _Members(list[tuple[str, Any]]):
    """The members of an object as written: in order, with repetitions."""


class _OutOfRange:
    """A number that no double holds exactly enough."""


class _NotFinite:
    """NaN or Infinity: words JSON does not have."""


def read_exactly(raw: bytes, *, max_depth: int) -> dict[str, Any]:
    """The object in `raw`, or `Invalid` with everything that is wrong with it."""
    text = _decode(raw)
    _check_depth(text, max_depth)
    try:
        tree = json.loads(
            text,
            object_pairs_hook=_Members,
            parse_int=_integer,
            parse_float=_fraction,
            parse_constant=lambda _: _NotFinite(),
        )
    except ValueError as error:
        where = (
            f" (line {error.lineno}, column {error.colno})" if isinstance(error, json.JSONDecodeError) else ""
        )
        _refuse("INVALID_JSON", f"The body is not JSON{where}.", status=400)
    findings = Findings()
    document = _plain(tree, (), findings)
    if findings:
        _refuse_all(findings)
    if not isinstance(document, dict):
        _refuse("NOT_AN_OBJECT", "The body must be a JSON object.", status=422)
    return document


def _decode(raw: bytes) -> str:
    if raw.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        _refuse("UNEXPECTED_BOM", "The body starts with a byte order mark; send plain UTF-8.", status=400)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        _refuse("INVALID_UTF8", f"The body is not UTF-8 at byte {error.start}.", status=400)


def _check_depth(text: str, max_depth: int) -> None:
    """Count brackets outside strings; stops at the first that is too deep, before any parser recurses."""
    depth = 0
    for token in _BRACKETS.finditer(text):
        if token.lastindex == 1:
            depth += 1
            if depth > max_depth:
                _refuse("TOO_DEEP", f"The body is nested deeper than {max_depth} levels.", status=422)
        elif token.lastindex == 2:  # noqa: PLR2004 - the group of the closing brackets
            depth -= 1


def _integer(literal: str) -> int | _OutOfRange:
    # By length first: turning a long literal into an int is quadratic, and Python refuses it at 4,300 digits.
    if len(literal) <= _LONGEST_INTEGER and abs(number := int(literal)) <= SAFE_INTEGER:
        return number
    return _OutOfRange()


def _fraction(literal: str) -> float | _OutOfRange:
    number = float(literal)
    return number if math.isfinite(number) else _OutOfRange()


def _plain(node: Any, path: _Path, findings: Findings) -> Any:
    """The node as plain dicts and lists; what is wrong with it is added to `findings`."""
    if isinstance(node, _Members):
        return _plain_object(node, path, findings)
    if isinstance(node, list):
        return [_plain(inner, (*path, index), findings) for index, inner in enumerate(node)]
    if isinstance(node, str) and _SURROGATE.search(node):
        _note(findings, path, "LONE_SURROGATE", "The string holds half of a surrogate pair.")
    elif isinstance(node, _OutOfRange):
        message = "The number is out of range: integers go to 2^53-1, fractions are doubles. Send a string."
        _note(findings, path, "NUMBER_OUT_OF_RANGE", message)
    elif isinstance(node, _NotFinite):
        _note(findings, path, "NON_FINITE_NUMBER", "NaN and Infinity are not JSON.")
    return node


def _plain_object(members: _Members, path: _Path, findings: Findings) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, node in members:
        if _SURROGATE.search(name):
            _note(findings, path, "LONE_SURROGATE", "A key of this object holds half of a surrogate pair.")
            continue
        inner = (*path, name)
        if name in found:
            _note(findings, inner, "DUPLICATE_KEY", "The key is there more than once.")
        found[name] = _plain(node, inner, findings)
    return found


def _note(findings: Findings, path: _Path, code: str, message: str) -> None:
    if not findings.full:
        findings.note(reduce(child, path, ""), code, message)


def _refuse_all(findings: Findings) -> NoReturn:
    """Refuse with the code of the worst: what is not JSON comes before what is merely unacceptable."""
    worst = min(findings.problems, key=lambda problem: problem.code != "NON_FINITE_NUMBER")
    status = 400 if worst.code == "NON_FINITE_NUMBER" else 422
    raise Invalid(worst.message, code=worst.code, status=status, problems=findings.problems)


def _refuse(code: str, message: str, *, status: int) -> NoReturn:
    problem = Problem(pointer="", code=code, message=message)
    raise Invalid(message, code=code, status=status, problems=(problem,)) from None
