"""The service: save the document, ask for its pages one run after another, write what was read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from lucius.errors import Unavailable
from lucius.sdk.serving.outcomes import Final, Output
from lucius.sdk.serving.service import Service
from lucius.sdk.serving.step import Step
from lucius.services.ocr.payload import OcrPayload, check_amount, check_format, selected
from lucius.services.ocr.reading import RUN_PAGES, let_go, look, read_run
from lucius.services.ocr.records import Found, PageText, Task
from lucius.services.ocr.settings import OcrSettings
from lucius.services.ocr.writing import ResultFiles

T = TypeVar("T")

_NEEDED = ("cv2", "numpy", "onnxruntime", "PIL", "pypdfium2", "rapidocr")
_MOST_PAGES = 100_000
"""Pages of a document, read or not; damaged files claim billions."""


class OcrService(Service[OcrPayload]):
    """Text of PDFs and pictures."""

    step_type = "OCR"
    payload_model = OcrPayload
    concurrency = 1

    def __init__(self, settings: OcrSettings | None = None) -> None:
        self.settings = settings or OcrSettings()

    async def start(self) -> None:
        """Say at once if the libraries are missing."""
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if missing:
            names = ", ".join(missing)
            raise Unavailable(f"OCR needs {names}; install lucius[reference].", code="EXTRA_MISSING")

    async def execute(self, step: Step[OcrPayload]) -> Output:
        """Read the pages that were asked for."""
        check_format(step.payload.output_format)
        task = await self._task(step)
        found = await self._within_time(step, look, task)
        if found.pages > _MOST_PAGES:
            raise Final("TOO_MANY_PAGES", f"The document claims {found.pages} pages; it may be damaged.")
        numbers = selected(step.payload.pages, found.pages)
        check_amount(len(numbers), payload=step.payload, limit=self.settings.max_pages)
        with ResultFiles(step.scratch, _facts(step.payload, found, task)) as files:
            await self._read(step, task, numbers, files, found.pages)
            files.end(found.pages)
        await self._within_time(step, let_go)
        text = await step.workspace.write(
            "output.txt", files.text_path, content_type="text/plain; charset=utf-8"
        )
        pages = await step.workspace.write("pages.json", files.pages_path, content_type="application/json")
        return Output(output=text, artifacts=(text, pages))

    async def _read(
        self, step: Step[OcrPayload], task: Task, numbers: Sequence[int], files: ResultFiles, count: int
    ) -> None:
        done = 0
        step.progress(0.0, f"{count} page{'s' if count > 1 else ''}")
        while done < len(numbers):
            run = await self._within_time(step, read_run, task, numbers[done : done + RUN_PAGES])
            for page in run:
                files.add(page)
            done += len(run)
            step.progress(done / len(numbers), _told(run[-1], count))

    async def _task(self, step: Step[OcrPayload]) -> Task:
        path = await _saved(step, self.settings.max_bytes)
        return Task(
            path=str(path),
            password=step.payload.password,
            dpi=step.payload.dpi or self.settings.dpi,
            threads=self.settings.threads,
            max_pixels=self.settings.max_pixels,
            max_picture_pixels=self.settings.max_picture_pixels,
            max_memory=self.settings.max_memory,
        )

    async def _within_time(self, step: Step[OcrPayload], function: Callable[..., T], *arguments: Any) -> T:
        """Run in the other process, which is ended if it takes too long."""
        limit = asyncio.timeout(self.settings.page_seconds)
        try:
            async with limit:
                return await step.in_process(function, *arguments)
        except TimeoutError:
            if not limit.expired():
                raise
            seconds = self.settings.page_seconds
            raise Final(
                "PAGE_TOO_SLOW", f"A page took longer than {seconds:g} s; it may be damaged."
            ) from None


async def _saved(step: Step[OcrPayload], limit: int) -> Path:
    """The document as a local file; no more of it is copied than may be read."""
    try:
        return await step.document.save(step.scratch / "document", limit=limit)
    except Final as failure:
        if failure.code != "INPUT_TOO_LARGE":
            raise
        size = step.document.size
        has = f"{size:,} bytes" if size is not None else "more bytes than that"
        message = f"{limit:,} bytes are allowed, and the document has {has}."
        raise Final("DOCUMENT_TOO_LARGE", message) from None


def _told(page: PageText, count: int) -> str:
    how = page.method.replace("-", " ")
    return f"page {page.page} of {count}, {how}"


def _facts(payload: OcrPayload, found: Found, task: Task) -> dict[str, Any]:
    """What stands at the head of `pages.json`."""
    return {
        "document": {
            "media_type": found.media_type,
            "pages": found.pages,
            "size": found.size,
            "complete": found.complete,
            "language": payload.language,
        },
        "engine": {
            "text_layer": f"pypdfium2 {_version('pypdfium2')}",
            "recognition": f"rapidocr {_version('rapidocr')}",
            "dpi": task.dpi,
        },
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
