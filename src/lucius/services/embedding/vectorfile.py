"""The two files of vectors: `vectors.json`, which everybody can read, and `vectors.npy`, which is quick.

    {"model", "dimensions", "chunking": {…}, "binary": {reference to vectors.npy},
     "chunks": [{"id", "page", "start", "end", "text"}], "vectors": [[…], …]}

The numbers of both are the same: JSON has the shortest form that reads back as the same float32.
"""

from __future__ import annotations

import io
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import orjson

from lucius.services.text.chunks import Chunk

if TYPE_CHECKING:
    from lucius.services.text.vectors import Matrix

_ROWS: Final = 256


def array_bytes(vectors: Matrix) -> bytes:
    """The vectors in NumPy's own format: float32 rows, no pickle."""
    import numpy as np  # noqa: PLC0415 - comes with an extra

    held = io.BytesIO()
    np.save(held, vectors, allow_pickle=False)
    return held.getvalue()


async def vectors_json(
    head: dict[str, Any], chunks: Sequence[Chunk], vectors: Matrix
) -> AsyncIterator[bytes]:
    """The JSON document in pieces, so that it is never in memory as a whole."""
    yield orjson.dumps(head)[:-1] + b',"chunks":['
    for begin in range(0, len(chunks), _ROWS):
        yield (b"," if begin else b"") + msgspec.json.encode(chunks[begin : begin + _ROWS])[1:-1]
    yield b'],"vectors":['
    for begin in range(0, len(vectors), _ROWS):
        rows = orjson.dumps(vectors[begin : begin + _ROWS], option=orjson.OPT_SERIALIZE_NUMPY)
        yield (b"," if begin else b"") + rows[1:-1]
    yield b"]}"
