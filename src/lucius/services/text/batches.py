"""Embedding many texts inside an attempt: batches in a thread, and progress between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from lucius.sdk.serving.step import Step
from lucius.services.text.vectors import Embedder, embedder

if TYPE_CHECKING:
    from lucius.services.text.vectors import Matrix

_BATCH: Final = 64
_BATCH_CHARACTERS: Final = 100_000
"""About 50 ms of work: what a cancellation waits for."""


async def embed_texts(
    step: Step[Any], texts: Sequence[str], dimensions: int, *, until: float = 0.95
) -> Matrix:
    """One row for each text; progress ends at `until`. Raises `Cancelled` between batches."""
    import numpy as np  # noqa: PLC0415 - comes with an extra

    model: Embedder = await step.in_thread(embedder)
    rows = np.zeros((len(texts), dimensions), dtype=np.float32)
    for begin, end in _batches(texts):
        step.progress(0.05 + (until - 0.05) * begin / len(texts), f"chunk {begin + 1} of {len(texts)}")
        rows[begin:end] = await step.in_thread(model.embed, texts[begin:end], dimensions)
    return rows


def _batches(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    begin = held = 0
    for end, text in enumerate(texts):
        if end > begin and (end - begin == _BATCH or held + len(text) > _BATCH_CHARACTERS):
            yield begin, end
            begin, held = end, 0
        held += len(text)
    if begin < len(texts):
        yield begin, len(texts)
