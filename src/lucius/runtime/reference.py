"""The reference services by name: what there is, and whether it can run here.

They are named by text and found by `find_spec`: nothing of theirs is loaded here, least of all the heavy
libraries, which belong into the worker processes.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path

from lucius.errors import Unavailable

TARGETS = {
    "ocr": "lucius.services.ocr:OcrService",
    "embedding": "lucius.services.embedding:EmbeddingService",
    "sis": "lucius.services.sis:SisService",
}
"""What `lucius service NAME` runs."""
STEP_TYPES = {name: name.upper() for name in TARGETS}
"""Which steps each of them serves."""
REMEDY = "pip install 'lucius[reference]'"

_NEEDS = ("numpy", "onnxruntime", "cv2", "PIL", "pypdfium2", "rapidocr", "wordllama")


def missing() -> list[str]:
    """The modules of the extra that are not there."""
    return [name for name in _NEEDS if importlib.util.find_spec(name) is None]


def installed() -> bool:
    """Whether the extra `[reference]` is there."""
    return not missing()


def require() -> None:
    """Raise one clear sentence unless the extra is there."""
    if lacking := missing():
        message = (
            f"The reference services need the extra [reference], and {', '.join(lacking)} "
            f"cannot be found; install it with {REMEDY}."
        )
        raise Unavailable(message, code="REFERENCE_NOT_INSTALLED")


def sample_report(path: Path) -> Path:
    """Write the PDF of the demonstration: several pages, one of them an image only."""
    make: Callable[[Path], Path] = importlib.import_module("lucius.services.documents").report_pdf
    return make(path)
