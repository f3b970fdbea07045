"""What other people's code raises and returns: for tests that look at what becomes of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lucius.sdk import Artifact, Final, Step


class BadPageError(Final):
    """A failure with arguments of its own, as services write them."""

    def __init__(self, page: int) -> None:
        super().__init__("BAD_PAGE", f"Page {page} is torn.")


class OddError(Exception):
    """An exception that pickle cannot make again."""

    def __init__(self, left: str, right: str) -> None:
        super().__init__(left + right)


class SilentError(Exception):
    """An exception that cannot be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


class Fraction32:
    """A number of another library: it is one, and JSON does not know it."""

    def __float__(self) -> float:
        return 0.25

    def __lt__(self, other: float) -> bool:
        return other > 0.25

    def __gt__(self, other: float) -> bool:
        return other < 0.25


def raised(error: BaseException) -> None:
    """Raise it: here, in a thread or in another process."""
    raise error


def left() -> None:
    """What a command-line library does when it does not like its arguments."""
    sys.exit(3)


def torn() -> None:
    """A failure from another process."""
    raise BadPageError(3)


def odd() -> None:
    """An exception from another process."""
    raise OddError("no ", "page")


async def awaits_what_was_cancelled() -> None:
    """As easily happens with a task of one's own."""
    own = asyncio.create_task(asyncio.sleep(60))
    own.cancel()
    await own


def artifact(**given: Any) -> Artifact:
    """An artifact that no workspace made."""
    fields: dict[str, Any] = {
        "name": "a",
        "uri": "s3://bucket/a",
        "content_type": "text/plain",
        "size": 1,
        "sha256": "0" * 64,
    }
    return Artifact(**(fields | given))


def sync(error: BaseException) -> Callable[[Step[Any]], Any]:
    """Work that raises this."""

    async def work(_step: Step[Any]) -> None:
        raised(error)

    return work


def giving(value: Any) -> Callable[[Step[Any]], Any]:
    """Work that returns this."""

    async def work(_step: Step[Any]) -> Any:
        return value

    return work


async def _cancelled(_step: Step[Any]) -> None:
    await awaits_what_was_cancelled()


async def _exits_in_thread(step: Step[Any]) -> None:
    await step.in_thread(left)


async def _exits_in_process(step: Step[Any]) -> None:
    await step.in_process(left)


async def _torn_in_process(step: Step[Any]) -> None:
    await step.in_process(torn)


async def _odd_in_process(step: Step[Any]) -> None:
    await step.in_process(odd)


BUG = ("FAILED_RETRY", "SERVICE_ERROR")
REFUSED = ("FAILED_FINAL", "RESULT_REFUSED")

KINDS: dict[str, tuple[Callable[[Step[Any]], Any], tuple[str, str]]] = {
    "SystemExit": (sync(SystemExit(0)), BUG),
    "KeyboardInterrupt": (sync(KeyboardInterrupt()), BUG),
    "a group around one": (sync(BaseExceptionGroup("group", [KeyboardInterrupt()])), BUG),
    "CancelledError": (_cancelled, BUG),
    "an exception without words": (sync(SilentError()), BUG),
    "sys.exit in a thread": (_exits_in_thread, BUG),
    "sys.exit in a process": (_exits_in_process, BUG),
    "a failure of its own from a process": (_torn_in_process, ("FAILED_FINAL", "BAD_PAGE")),
    "an exception pickle cannot make": (_odd_in_process, BUG),
    "an exception as message": (sync(Final("TORN", ValueError("page 3"))), ("FAILED_FINAL", "TORN")),  # type: ignore[arg-type]
    "a number as code": (sync(Final(404, "gone")), ("FAILED_FINAL", "404")),  # type: ignore[arg-type]
    "a number returned": (giving(5), BUG),
    "bytes returned": (giving(b"text"), BUG),
    "a path as uri": (giving(artifact(uri=Path("a"))), BUG),
    "a uri that is none": (giving(artifact(uri="a file")), REFUSED),
    "more files than a result holds": (giving([artifact()] * 1001), REFUSED),
}
"""By name: the work, and the RESULT it must lead to."""
