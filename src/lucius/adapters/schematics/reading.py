"""Reading YAML and JSON so that every value still knows its line and column.

State model: bytes go in; a `Document` (plain value plus places) comes out, or `Unreadable` with
what is wrong. The text is walked event by event, never composed or constructed: no tags, no
anchors, no aliases, no recursion, so neither a bomb nor an object can come out of it. Plain
scalars follow the YAML 1.2 core rules (`no` and `on` are words, not booleans).
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionStartEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from lucius.adapters.schematics.scalars import BadScalar, plain_scalar, shown
from lucius.core.pointer import child
from lucius.ports.schematics import ConfigProblem

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 64
MAX_NODES = 20_000

Place = tuple[int, int]
_START: Place = (1, 1)
_UNPRINTABLE = re.compile(
    "[^\t\n\r\x20-\x7e\x85\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)


class Unreadable(Exception):  # noqa: N818 - a verdict on a file, caught where files are read
    """The text is not one plain YAML or JSON document."""

    def __init__(self, problem: ConfigProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """A file's value, and where each part of it is written."""

    file: str
    value: Any
    places: dict[str, Place]
    keys: dict[str, Place]

    def problem(self, pointer: str, message: str, remedy: str, *, at_key: bool = False) -> ConfigProblem:
        """Something wrong at `pointer`, or at the nearest parent that is written down."""
        table = self.keys if at_key and pointer in self.keys else self.places
        nearest = pointer
        while nearest and nearest not in table:
            nearest = nearest.rpartition("/")[0]
        line, column = table.get(nearest, _START)
        return ConfigProblem(
            file=self.file, line=line, column=column, pointer=pointer, message=message, remedy=remedy
        )


def read_document(file: str, raw: bytes) -> Document:
    """The one document in `raw`. An empty file is an empty mapping."""
    text = _text(file, raw)
    if file.endswith(".json"):
        text = _checked_json(file, text)
    walk = _Walk(file)
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            walk.take(event)
    except YAMLError as error:
        raise Unreadable(_syntax_problem(file, error)) from error
    value = {} if walk.root is None else walk.root
    return Document(file=file, value=value, places=walk.places, keys=walk.keys)


def _text(file: str, raw: bytes) -> str:
    if len(raw) > MAX_BYTES:
        raise Unreadable(
            _at(file, _START, f"the file has {len(raw)} bytes", f"keep it within {MAX_BYTES} bytes")
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = _place_of(raw[: error.start].decode("utf-8-sig", "replace"))
        raise Unreadable(_at(file, place, "the file is not UTF-8 text", "save it as UTF-8")) from error
    found = _UNPRINTABLE.search(text)
    if found:
        what = f"the character U+{ord(found.group()):04X} is not printable"
        raise Unreadable(
            _at(file, _place_of(text[: found.start()]), what, "remove it, or escape it inside quotes")
        )
    return text


def _checked_json(file: str, text: str) -> str:
    """JSON is judged by the JSON grammar; YAML then only tells where things are."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        place = (error.lineno, error.colno)
        raise Unreadable(_at(file, place, f"this is not JSON: {error.msg}", "correct the syntax")) from error
    except (RecursionError, ValueError) as error:
        message = "the JSON is nested too deeply or holds a number too long to read"
        raise Unreadable(_at(file, _START, message, f"keep it within {MAX_DEPTH} levels")) from error
    return text.replace("\t", " ")


def _place_of(before: str) -> Place:
    return before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1


def _at(file: str, place: Place, message: str, remedy: str, pointer: str = "") -> ConfigProblem:
    return ConfigProblem(
        file=file, line=place[0], column=place[1], pointer=pointer, message=message, remedy=remedy
    )


def _syntax_problem(file: str, error: YAMLError) -> ConfigProblem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    place = (mark.line + 1, mark.column + 1) if mark else _START
    said = " ".join(
        str(part) for part in (getattr(error, "context", None), getattr(error, "problem", None)) if part
    )
    return _at(
        file, place, f"this is not YAML: {said or 'unreadable text'}", "correct the syntax or quote the text"
    )


class _Frame:
    """A collection that is still open."""

    __slots__ = ("key", "pointer", "value")

    def __init__(self, value: dict[str, Any] | list[Any], pointer: str) -> None:
        self.value = value
        self.pointer = pointer
        self.key: str | None = None


class _Walk:
    """Turns parser events into one plain value, with places."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Any = None
        self.places: dict[str, Place] = {}
        self.keys: dict[str, Place] = {}
        self._stack: list[_Frame] = []
        self._documents = 0
        self._nodes = 0

    def take(self, event: Event) -> None:
        """One event further."""
        place = (event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, DocumentStartEvent):
            self._documents += 1
            if self._documents > 1:
                self._refuse(place, "a second document starts here", "keep one document in a file")
        elif isinstance(event, AliasEvent):
            self._refuse(place, f"*{event.anchor} is an alias", "write the value out; anchors are not read")
        elif isinstance(event, SequenceEndEvent | MappingEndEvent):
            self._stack.pop()
        elif isinstance(event, ScalarEvent | CollectionStartEvent):
            self._node(event, place)

    def _node(self, event: ScalarEvent | CollectionStartEvent, place: Place) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._refuse(place, f"the file holds more than {MAX_NODES} values", "split it")
        if event.anchor is not None:
            self._refuse(place, f"&{event.anchor} is an anchor", "write the value out where it is needed")
        # "!" alone is the non-specific tag: still not plain text, so refused like any other.
        if event.tag is not None:
            self._refuse(place, f"{event.tag} is a YAML tag", "remove it; only plain values are read")
        frame = self._stack[-1] if self._stack else None
        if frame and isinstance(frame.value, dict) and frame.key is None:
            self._key(frame, event, place)
            return
        pointer = self._pointer(frame)
        self.places[pointer] = place
        if isinstance(event, ScalarEvent):
            self._put(frame, self._scalar(event, place, pointer))
            return
        if len(self._stack) >= MAX_DEPTH:
            self._refuse(place, f"this is nested deeper than {MAX_DEPTH} levels", "flatten it", pointer)
        opened: dict[str, Any] | list[Any] = [] if isinstance(event, SequenceStartEvent) else {}
        self._put(frame, opened)
        self._stack.append(_Frame(opened, pointer))

    def _key(self, frame: _Frame, event: ScalarEvent | CollectionStartEvent, place: Place) -> None:
        if not isinstance(event, ScalarEvent):
            self._refuse(place, "a list or mapping is used as a key", "use a word as the key", frame.pointer)
        key = _joined_surrogates(event.value)
        pointer = child(frame.pointer, key)
        if key in frame.value:
            remedy = f"keep one of them; the first is on line {self.keys[pointer][0]}"
            self._refuse(place, f"{shown(key)} is written twice", remedy, pointer)
        frame.key = key
        self.keys[pointer] = place

    def _scalar(self, event: ScalarEvent, place: Place, pointer: str) -> Any:
        if event.style is not None:
            return _joined_surrogates(event.value)
        try:
            return plain_scalar(event.value)
        except BadScalar as error:
            self._refuse(place, error.message, error.remedy, pointer)

    def _pointer(self, frame: _Frame | None) -> str:
        if frame is None:
            return ""
        return child(frame.pointer, len(frame.value) if frame.key is None else frame.key)

    def _put(self, frame: _Frame | None, value: Any) -> None:
        if frame is None:
            self.root = value
        elif isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is not None:
            frame.value[frame.key] = value
            frame.key = None

    def _refuse(self, place: Place, message: str, remedy: str, pointer: str = "") -> NoReturn:
        raise Unreadable(_at(self.file, place, message, remedy, pointer))


def _joined_surrogates(text: str) -> str:
    r"""JSON writes U+1F600 as `\ud83d\ude00`; YAML reads that as two halves."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
