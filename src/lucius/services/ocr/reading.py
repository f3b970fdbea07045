"""What runs in the process that computes: functions of this module, called by name.

The document opened last stays open for the next call, and the network stays loaded; both belong to this
process. A call reads a run of pages that carry their own text, or one page that has to be recognised, so
that neither a long PDF costs a call for each page nor a call lasts longer than a page needs.
"""

from __future__ import annotations

import resource
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import Protocol

from lucius.services.ocr.records import Found, PageText, Task
from lucius.services.ocr.sniffing import HEAD, Kind, kind_of

RUN_PAGES = 25
_RUN_SECONDS = 1.0


class Opened(Protocol):
    """A document that is open."""

    count: int
    complete: bool

    def layer(self, number: int) -> PageText | None:
        """The page, if nothing has to be recognised."""
        ...

    def recognise(self, number: int) -> PageText:
        """The page, recognised."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


_open: dict[tuple[Task, int, int], Opened] = {}


def look(task: Task) -> Found:
    """Open a document and say what it is; Final if it cannot be read."""
    if task.max_memory is not None:
        _bound_memory(task.max_memory)
    opened = _opened(task)
    path = Path(task.path)
    return Found(
        media_type=_kind(path).value,
        pages=opened.count,
        size=path.stat().st_size,
        complete=opened.complete,
    )


def read_run(task: Task, numbers: Sequence[int]) -> list[PageText]:
    """The first of these pages, and those after it as long as they are quickly read."""
    opened = _opened(task)
    ends = monotonic() + _RUN_SECONDS
    done: list[PageText] = []
    for number in numbers:
        page = opened.layer(number)
        if page is None and done:
            break
        done.append(page or opened.recognise(number))
        if page is None or len(done) >= RUN_PAGES or monotonic() > ends:
            break
    return done


def let_go() -> None:
    """Close what is open."""
    while _open:
        _open.popitem()[1].close()


def _bound_memory(most: int) -> None:
    """A few kilobytes of PDF can ask for all memory there is; this process ends before the machine does."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    soft = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))


def _opened(task: Task) -> Opened:
    stat = Path(task.path).stat()
    key = (task, stat.st_ino, stat.st_mtime_ns)  # another attempt may have a file of the same name
    if key not in _open:
        let_go()
        _open[key] = _reader(task)
    return _open[key]


def _reader(task: Task) -> Opened:
    kind = _kind(Path(task.path))
    if kind is Kind.PDF:
        from lucius.services.ocr.pdf import PdfFile  # noqa: PLC0415 - comes with an extra

        return PdfFile(task)
    if kind is Kind.TEXT:
        from lucius.services.ocr.plain import PlainFile  # noqa: PLC0415 - beside the others

        return PlainFile(task)
    from lucius.services.ocr.pictures import PictureFile  # noqa: PLC0415 - comes with an extra

    return PictureFile(task, kind)


def _kind(path: Path) -> Kind:
    with path.open("rb") as file:
        head = file.read(HEAD)
        return kind_of(head, whole=not file.read(1))
