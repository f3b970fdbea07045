"""What an attempt wrote: whether its refs are true, and whether anything lies where it must not."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from lucius.conformance.attempts import Attempt, Reported
from lucius.conformance.findings import Failed


def check_refs(attempt: Attempt, reported: Reported) -> int:
    """Raise `Failed` for a ref that is wrong; how many there are."""
    refs = [*reported.artifacts, *([reported.output_ref] if reported.output_ref is not None else [])]
    for ref in refs:
        _check_ref(attempt, ref)
    return len(refs)


def check_neighbours(attempt: Attempt, *others: Attempt) -> None:
    """Raise `Failed` if the job's workspace holds files outside the folders of these attempts."""
    folders = [one.folder for one in (attempt, *others)]
    for path in sorted(attempt.workspace.rglob("*")):
        if path.is_file() and not any(path.is_relative_to(folder) for folder in folders):
            where = path.relative_to(attempt.workspace).as_posix()
            raise Failed(f"it wrote {where} in the job's workspace; {_only(attempt)}")


def written(attempt: Attempt) -> dict[str, tuple[int, int, int]]:
    """Every file of the attempt with what changes when it is written again."""
    found = {}
    for path in sorted(attempt.folder.rglob("*")):
        if path.is_file():
            about = path.stat()
            found[path.relative_to(attempt.folder).as_posix()] = (
                about.st_ino,
                about.st_mtime_ns,
                about.st_size,
            )
    return found


def check_unchanged(attempt: Attempt, before: dict[str, tuple[int, int, int]], when: str) -> None:
    """Raise `Failed` if the attempt's files were written again."""
    after = written(attempt)
    touched = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    if touched:
        raise Failed(f"it did the work again {when}: {', '.join(touched[:3])} was written a second time")


def _check_ref(attempt: Attempt, ref: dict[str, Any]) -> None:
    uri = str(ref["uri"])
    path = _path(uri)
    if path is None or not path.is_relative_to(attempt.folder) or path == attempt.folder:
        raise Failed(f"its RESULT names {uri}; {_only(attempt)}")
    if not path.is_file():
        raise Failed(f"its RESULT names {uri}, but there is no such file")
    data = path.read_bytes()
    size, digest = ref.get("size"), ref.get("sha256")
    if size is not None and size != len(data):
        raise Failed(f"its RESULT says {uri} has {size} bytes; it has {len(data)}")
    right = hashlib.sha256(data).hexdigest()
    if digest is not None and str(digest).lower().removeprefix("sha256:") != right:
        raise Failed(f"its RESULT says the sha256 of {uri} is {digest}; it is {right}")


def _path(uri: str) -> Path | None:
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in {"", "localhost"}:
        return None
    return Path(unquote(parts.path)).resolve()


def _only(attempt: Attempt) -> str:
    step, number = attempt.folder.parts[-2:]
    return f"this attempt may only write below {step}/{number}/"
