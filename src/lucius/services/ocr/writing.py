"""The two files of a result, written as pages come in, so that a long document takes no more memory."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from lucius.services.ocr.records import PageText

PAGE_BREAK = "\f"


class ResultFiles:
    """`output.txt`: page n is the n-th part between form feeds. `pages.json`: how each page was read."""

    def __init__(self, directory: Path, facts: dict[str, Any]) -> None:
        self.text_path = directory / "output.txt"
        self.pages_path = directory / "pages.json"
        self._facts = facts
        self._next = 1
        self._methods: dict[str, int] = {}

    def __enter__(self) -> Self:
        self._text = self.text_path.open("w", encoding="utf-8", newline="")
        self._pages = self.pages_path.open("wb")
        self._pages.write(msgspec.json.encode(self._facts)[:-1] + b',"pages":[')
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._text.close()
        self._pages.close()

    def add(self, page: PageText) -> None:
        """Write a page, and those before it that were not asked for."""
        self.skip_to(page.page)
        self._write(page)

    def skip_to(self, number: int) -> None:
        """Leave out the pages before this one."""
        while self._next < number:
            self._write(PageText(page=self._next, method="skipped"))

    def end(self, count: int) -> None:
        """Leave out what is left of a document with so many pages, and close the list."""
        self.skip_to(count + 1)
        self._pages.write(b'\n],"summary":' + msgspec.json.encode(self._methods) + b"}\n")

    def _write(self, page: PageText) -> None:
        self._text.write(("" if page.page == 1 else PAGE_BREAK) + page.text)
        record = msgspec.to_builtins(page)
        record.pop("text")  # it is in output.txt, and its lines are here
        record["characters"] = len(page.text)
        self._pages.write((b"\n" if page.page == 1 else b",\n") + msgspec.json.encode(record))
        self._methods[page.method] = self._methods.get(page.method, 0) + 1
        self._next += 1
