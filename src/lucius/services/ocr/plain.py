"""A plain text file: its text is what it is; form feeds divide pages."""

from __future__ import annotations

import codecs
from pathlib import Path

from lucius.sdk.serving.outcomes import Final
from lucius.services.ocr.records import Line, PageText, Task
from lucius.services.ocr.text_layer import clean


class PlainFile:
    """Pages by number, from 1."""

    complete = True

    def __init__(self, task: Task) -> None:
        data = Path(task.path).read_bytes()
        wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        try:
            text = data.decode("utf-16" if wide else "utf-8-sig")
        except UnicodeDecodeError as error:
            raise Final(
                "UNSUPPORTED_MEDIA_TYPE",
                f"The document begins like a text file but is none in UTF-8: see byte {error.start}.",
            ) from None
        self._pages = text.replace("\r\n", "\n").replace("\r", "\n").split("\f")
        self.count = len(self._pages)

    def layer(self, number: int) -> PageText:
        """The page as it is written."""
        text = clean(self._pages[number - 1]).rstrip()
        if not text.strip():
            return PageText(page=number, method="empty")
        lines = tuple(Line(text=line, confidence=1.0) for line in text.split("\n"))
        return PageText(page=number, method="text-layer", text=text, confidence=1.0, lines=lines)

    def recognise(self, number: int) -> PageText:
        """The same: there is nothing to recognise."""
        return self.layer(number)

    def close(self) -> None:
        """Nothing is held open."""
