"""EMBEDDING: the text of `inputs.ocr`, or the document itself, as chunks with their vectors.

State: nothing but the model, which all attempts share. Work goes in batches in a thread, with progress
between them, so heartbeats and cancellation get through.

How it fails, always finally, because the same text fails the same way: `NOT_TEXT`, `NO_TEXT` (the client
sent an empty document), `TEXT_TOO_LONG`, `TOO_MANY_CHUNKS`, `UNKNOWN_MODEL`, `INVALID_PAYLOAD`. An empty text
from an earlier step is no failure: a scan may be blank, its vectors are an empty list, and the job goes on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from lucius.sdk.serving.outcomes import Output
from lucius.sdk.serving.service import Service
from lucius.sdk.serving.step import Step
from lucius.services.embedding.payload import EmbeddingPayload
from lucius.services.embedding.vectorfile import array_bytes, vectors_json
from lucius.services.text.batches import embed_texts
from lucius.services.text.chunks import Chunk, cut_pages
from lucius.services.text.pages import document_pages, pages_of, read_bytes
from lucius.services.text.vectors import embedder, known_dimensions, known_model


class EmbeddingService(Service[EmbeddingPayload]):
    """Cuts text into chunks and gives each one a vector."""

    step_type: ClassVar[str] = "EMBEDDING"
    payload_model = EmbeddingPayload

    async def start(self) -> None:
        """Load the model before the first directive is taken."""
        await asyncio.to_thread(embedder)

    async def execute(self, step: Step[EmbeddingPayload]) -> Output:
        """Read, cut, embed, write."""
        wanted = step.payload
        model, dimensions = known_model(wanted.model), known_dimensions(wanted.dimensions)
        pages = await _pages(step)
        chunks = await step.in_thread(_cut, pages, wanted)
        vectors = await embed_texts(step, [chunk.text for chunk in chunks], dimensions)
        step.progress(0.95, f"{len(chunks)} chunks embedded, writing")
        binary = await step.workspace.write(
            "vectors.npy", array_bytes(vectors), content_type="application/octet-stream"
        )
        head = {
            "model": model,
            "dimensions": dimensions,
            "chunking": {
                "unit": "characters",
                "chunk_size": wanted.chunk_size,
                "chunk_overlap": wanted.overlap,
                "pages": len(pages),
            },
            "binary": binary.ref(),
        }
        output = await step.workspace.write(
            "vectors.json", vectors_json(head, chunks, vectors), content_type="application/json"
        )
        step.log.info("embedded", pages=len(pages), chunks=len(chunks), dimensions=dimensions)
        return Output(output=output, artifacts=(output, binary))


async def _pages(step: Step[EmbeddingPayload]) -> list[str]:
    step.progress(0.0, "reading the text")
    earlier = step.inputs.get("ocr")
    if earlier is not None:
        return pages_of(await read_bytes(earlier))
    return document_pages(await read_bytes(step.document))


def _cut(pages: Sequence[str], wanted: EmbeddingPayload) -> list[Chunk]:
    return cut_pages(pages, size=wanted.chunk_size, overlap=wanted.overlap)
