"""Getting at the document: the vectors of an earlier step, its text, or what the client sent.

Vectors made by another model cannot be compared with ours, so those chunks are embedded again. How it fails:
a file that looks like vectors and is none ends the job (`INVALID_VECTORS`); the rest is as with EMBEDDING.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec

from lucius.sdk.serving import outcomes
from lucius.sdk.serving.step import Step
from lucius.services.embedding.payload import DEFAULT_OVERLAP, DEFAULT_SIZE
from lucius.services.sis.corpus import Corpus, fits, rebuilt
from lucius.services.text.batches import embed_texts
from lucius.services.text.chunks import MAX_CHARACTERS, MAX_CHUNKS, Chunk, cut_pages
from lucius.services.text.pages import document_pages, pages_of, read_bytes
from lucius.services.text.vectors import DIMENSIONS, NAMES

if TYPE_CHECKING:
    from lucius.services.text.vectors import Matrix

_MAX_VECTOR_FILE: Final = 192 * 1024 * 1024
_READ_UNTIL: Final = 0.4


class _GivenChunk(msgspec.Struct, frozen=True):
    text: str
    id: str | int | None = None
    page: int = 1
    start: int = -1
    end: int = -1


class VectorFile(msgspec.Struct, frozen=True):
    """A `vectors.json`, as far as it is needed here."""

    chunks: list[_GivenChunk]
    vectors: list[list[float]]
    model: str | None = None


async def read_corpus(step: Step[Any]) -> Corpus:
    """The document from wherever it is."""
    step.progress(0.0, "reading the document")
    made, seen = step.inputs.get("embedding"), step.inputs.get("ocr")
    pages = None if seen is None else pages_of(await read_bytes(seen))
    if made is not None:
        raw = await read_bytes(made, limit=_MAX_VECTOR_FILE)
        return await _from_vectors(step, await step.in_thread(vector_file, raw), pages)
    if pages is None:
        raw = await read_bytes(step.document, limit=_MAX_VECTOR_FILE)
        if raw[:1] == b"{" and b'"vectors"' in raw and b'"chunks"' in raw:
            return await _from_vectors(step, await step.in_thread(vector_file, raw), None)
        pages = document_pages(raw)
    chunks = await step.in_thread(_cut, pages)
    vectors = await embed_texts(step, [chunk.text for chunk in chunks], DIMENSIONS[-1], until=_READ_UNTIL)
    return await step.in_thread(_corpus, chunks, vectors, pages)


def vector_file(raw: bytes) -> VectorFile:
    """The file, checked; `Final` INVALID_VECTORS if it is none."""
    try:
        read = msgspec.json.decode(raw, type=VectorFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _invalid(str(error)[:200]) from None
    if len(read.chunks) != len(read.vectors):
        raise _invalid(f"{len(read.chunks)} chunks have {len(read.vectors)} vectors")
    if len(read.chunks) > MAX_CHUNKS or sum(len(chunk.text) for chunk in read.chunks) > MAX_CHARACTERS:
        raise _invalid(f"there are more than {MAX_CHUNKS} chunks or too much text in them")
    if len({len(row) for row in read.vectors}) > 1:
        raise _invalid("the vectors are of different lengths")
    return read


async def _from_vectors(step: Step[Any], file: VectorFile, pages: Sequence[str] | None) -> Corpus:
    chunks = [
        Chunk(
            id=str(each.id or f"c{number}")[:100],
            page=each.page,
            start=each.start,
            end=each.end,
            text=each.text,
        )
        for number, each in enumerate(file.chunks, start=1)
    ]
    width = len(file.vectors[0]) if file.vectors else DIMENSIONS[-1]
    if file.model in NAMES and width in DIMENSIONS:
        vectors = await step.in_thread(_matrix, file.vectors, width)
    else:
        vectors = await embed_texts(step, [each.text for each in chunks], DIMENSIONS[-1], until=_READ_UNTIL)
    return await step.in_thread(_corpus, chunks, vectors, pages)


def _corpus(chunks: Sequence[Chunk], vectors: Matrix, pages: Sequence[str] | None) -> Corpus:
    numbered = dict(enumerate(pages or (), start=1))
    if pages is not None and fits(chunks, numbered):
        return Corpus(chunks=chunks, vectors=vectors, pages=numbered)
    placed, whole = rebuilt(chunks)
    return Corpus(chunks=placed, vectors=vectors, pages=whole)


def _cut(pages: Sequence[str]) -> list[Chunk]:
    return cut_pages(pages, size=DEFAULT_SIZE, overlap=DEFAULT_OVERLAP)


def _matrix(rows: list[list[float]], width: int) -> Matrix:
    """The vectors with length 1, whoever wrote them; what is no finite number counts as nothing."""
    import numpy as np  # noqa: PLC0415 - comes with an extra

    held = np.asarray(rows, dtype=np.float64).reshape(len(rows), width)
    held = np.clip(np.nan_to_num(held, nan=0.0, posinf=0.0, neginf=0.0), -1e6, 1e6)
    lengths = np.linalg.norm(held, axis=1, keepdims=True)
    np.divide(held, lengths, out=held, where=lengths > 0)
    return held.astype(np.float32)


def _invalid(why: str) -> outcomes.Final:
    return outcomes.Final("INVALID_VECTORS", f"The vectors cannot be used: {why}.")
