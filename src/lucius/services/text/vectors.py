"""Vectors of texts by wordllama, whose one model comes in its wheel: no network, ever.

State: the model is loaded once a process (0.3 s, 60 MB) and only read afterwards, from any thread. A vector
is the mean of the vectors of a text's tokens, cut to its first 64, 128 or 256 numbers and brought to length
1, so a text has the same vector whatever it is embedded with, and cosine similarity is a dot product. A text
without a token has the zero vector.

How it fails: without the extra `[reference]` loading says what to install.
"""

from __future__ import annotations

import functools
import importlib
import logging
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lucius.errors import Unavailable
from lucius.sdk.serving import outcomes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.float32]

MODEL: Final = "wordllama/l2_supercat"
NAMES: Final = (MODEL, "wordllama", "l2_supercat")
"""What a payload may call it."""
DIMENSIONS: Final = (64, 128, 256)
_BLOCK: Final = 4096
"""Tokens that are added up at a time: memory stays flat however long a text is."""
_loading: Final = threading.Lock()


def known_model(name: str | None) -> str:
    """The full name of a model; `Final` UNKNOWN_MODEL unless there is one."""
    if name is None or name in NAMES:
        return MODEL
    raise outcomes.Final("UNKNOWN_MODEL", f"There is no embedding model {name[:100]!r}; there is {MODEL}.")


def known_dimensions(dimensions: int | None) -> int:
    """The length of a vector; `Final` INVALID_PAYLOAD unless the model has it."""
    if dimensions is None:
        return DIMENSIONS[-1]
    if dimensions in DIMENSIONS:
        return dimensions
    raise outcomes.Final("INVALID_PAYLOAD", f"/dimensions: {MODEL} has 64, 128 or 256, not {dimensions}.")


class Embedder:
    """The loaded model."""

    def __init__(self, tokenizer: Any, table: Matrix) -> None:
        self._tokenizer = tokenizer
        self._table = table

    def embed(self, texts: Sequence[str], dimensions: int) -> Matrix:
        """One row for each text, of length 1."""
        import numpy as np  # noqa: PLC0415 - comes with an extra

        rows = np.zeros((len(texts), dimensions), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            row[:] = self._mean(text)[:dimensions]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        np.divide(rows, lengths, out=rows, where=lengths > 0)
        return rows

    def _mean(self, text: str) -> NDArray[np.float64]:
        import numpy as np  # noqa: PLC0415 - comes with an extra

        ids = np.asarray(self._tokenizer.encode(text, add_special_tokens=False).ids, dtype=np.int64)
        np.clip(ids, 0, len(self._table) - 1, out=ids)
        total = np.zeros(self._table.shape[1], dtype=np.float64)
        for begin in range(0, len(ids), _BLOCK):
            total += self._table[ids[begin : begin + _BLOCK]].sum(axis=0, dtype=np.float64)
        mean: NDArray[np.float64] = total / max(len(ids), 1)
        return mean


def embedder() -> Embedder:
    """The model, loaded by whoever asks first."""
    with _loading:
        return _load()


@functools.cache
def _load() -> Embedder:
    root = logging.getLogger()
    kept, level = list(root.handlers), root.level
    try:
        wordllama = importlib.import_module("wordllama")
    except ModuleNotFoundError as error:
        raise Unavailable(
            f"{error.name} is not installed; install lucius[reference] to embed texts.", code="NOT_INSTALLED"
        ) from None
    finally:  # its import sets up the process's logging, which is not its to set up
        root.handlers[:] = kept
        root.setLevel(level)
    home = Path(str(wordllama.__file__)).parent
    model = wordllama.WordLlama.load(cache_dir=home, disable_download=True)
    model.tokenizer.no_padding()
    return Embedder(model.tokenizer, model.embedding)
