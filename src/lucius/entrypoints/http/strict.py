"""Bodies with fixed fields: what is not known is refused, with a pointer to it. No state."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import msgspec

from lucius.errors import Invalid, Problem
from lucius.wire.strict_json import MAX_BYTES, MAX_DEPTH, parse

T = TypeVar("T")
WRAPPED_DEPTH = MAX_DEPTH + 2
"""A body may hold a document of full depth inside a list or an object of its own."""
_WHERE = re.compile(r" - at `(?:key in )?\$(.*)`$")
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_NAMED = re.compile(r"^Object (?:missing required|contains unknown) field `([^`]+)`")


def read(raw: bytes, shape: type[T], *, limit: int = MAX_BYTES) -> T:
    """The request in `raw`; raises `Invalid` with a pointer."""
    document = parse(raw, max_bytes=limit, max_depth=WRAPPED_DEPTH)
    try:
        return msgspec.convert(document, shape)
    except msgspec.ValidationError as error:
        raise invalid(str(error)) from error


def invalid(text: str) -> Invalid:
    """The refusal for what msgspec says of a body."""
    where = _WHERE.search(text)
    pointer = "".join(f"/{name or index}" for name, index in _STEP.findall(where[1])) if where else ""
    words = _WHERE.sub("", text)
    named = _NAMED.match(words)
    if named:
        pointer = f"{pointer}/{named[1]}"
    problem = Problem(pointer=pointer, code="INVALID_FIELD", message=f"{words}.")
    return Invalid(problem.message, code="INVALID_REQUEST", problems=(problem,))


@contextmanager
def within(place: str) -> Iterator[None]:
    """Whatever is refused in this block is refused at this place of the body."""
    try:
        yield
    except Invalid as error:
        found = error.problems or (Problem(pointer="", code=error.code, message=error.message),)
        problems = tuple(
            Problem(pointer=place + one.pointer, code=one.code, message=one.message) for one in found
        )
        raise Invalid(error.message, code=error.code, status=error.status, problems=problems) from error
