"""Reads and keeps what a finished job put out, with the caller's own rights and credentials.

Lucius only knows references; the bytes come straight from where the services wrote them. What a reference
says about its bytes (size, SHA-256) is checked before anybody sees them. Nothing but the caller's own files
and credentials is used, so it fails where the caller may not read: with one sentence.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import msgspec

from lucius.errors import NotFound, Refused

if TYPE_CHECKING:
    from lucius.sdk.workspaces import Source

Document = dict[str, Any]
MOST = 64 * 1024 * 1024
"""Bytes that are shown; what is larger can be saved."""
_CODES = {"INPUT_CORRUPT": "OUTPUT_DIFFERS", "INPUT_TOO_LARGE": "OUTPUT_TOO_LARGE"}


def final_output(job: Document) -> Document:
    """The reference to a job's output; a sentence where there is none."""
    job_id, state = job["jobId"], job["state"]
    ref = job.get("final_output")
    if isinstance(ref, dict) and ref.get("uri"):
        return ref
    if state == "SUCCEEDED":
        raise NotFound(f"Job {job_id} succeeded, but its last step put out nothing.", code="NO_OUTPUT")
    if state in {"FAILED_FINAL", "CANCELLED"}:
        why = f" ({job['error_code']})" if job.get("error_code") else ""
        message = f"Job {job_id} ended {state}{why} and has no output; `lucius explain {job_id}` says why."
        raise NotFound(message, code="NO_OUTPUT")
    message = f"Job {job_id} is {state} and has no output yet; `lucius watch {job_id}` waits for it."
    raise Refused(message, code="NOT_FINISHED")


def read(ref: Document, *, within: float | None = None) -> Any:
    """The output: parsed if it is JSON, text if it is text, None for anything else."""
    data = asyncio.run(_read(ref, within))
    if _is_json(ref):
        try:
            return msgspec.json.decode(data)
        except msgspec.DecodeError:
            pass  # it says so and is not: shown as what it is
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def save(job: Document, directory: Path) -> list[Path]:
    """Copy every file of the job's accepted results below `directory`, one folder a step."""
    return asyncio.run(_save(job, directory))


async def _read(ref: Document, within: float | None) -> bytes:
    with _told(ref):
        async with asyncio.timeout(within):
            return await _source(ref).read(limit=MOST)


async def _save(job: Document, directory: Path) -> list[Path]:
    saved = []
    for step_id, ref in _files(job):
        target = directory / PurePosixPath(step_id).name / _name(ref)
        target.parent.mkdir(parents=True, exist_ok=True)
        with _told(ref):
            saved.append(await _source(ref).save(target))
    return saved


def _files(job: Document) -> Iterator[tuple[str, Document]]:
    """Step id and reference of every file, each once."""
    seen = set()
    for step in job.get("steps", []):
        for ref in (step.get("result_ref"), *(step.get("artifacts") or ())):
            if isinstance(ref, dict) and ref.get("uri") and ref["uri"] not in seen:
                seen.add(ref["uri"])
                yield step["step_id"], ref


def _name(ref: Document) -> PurePosixPath:
    """Where to put a file: its own name, which came from elsewhere and must not lead elsewhere."""
    given = ref.get("name") or PurePosixPath(unquote(urlsplit(ref["uri"]).path)).name
    parts = [part for part in str(given).replace("\\", "/").split("/") if part not in {"", ".", ".."}]
    return PurePosixPath(*parts) if parts else PurePosixPath("output")


def _source(ref: Document) -> Source:
    from lucius.sdk.workspaces.stores import Stores

    return Stores().source(ref)


@contextmanager
def _told(ref: Document) -> Iterator[None]:
    """Whatever keeps the bytes away, as one sentence."""
    from lucius.sdk.serving.outcomes import StepFailure

    try:
        yield
    except StepFailure as error:
        raise NotFound(error.message, code=_CODES.get(error.code, "OUTPUT_UNREADABLE")) from None
    except OSError as error:
        raise NotFound(f"{ref['uri']} cannot be read: {error}.", code="OUTPUT_UNREADABLE") from None


def _is_json(ref: Document) -> bool:
    return "json" in str(ref.get("content_type") or "") or str(ref["uri"]).endswith(".json")
