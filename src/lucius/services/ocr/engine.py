"""Recognition: a picture of a page in, its lines out.

RapidOCR finds boxes of text and reads each one. How it is set up was measured on pages of 7 and 11 points:

- Boxes are looked for on a picture made smaller (an A4 page to 1,280 pixels) and then read at full size:
  as right as on the full picture, at a third of the cost. Large and long pictures keep more of theirs, or
  small print would vanish. One box is read at a time: batches are padded to the widest, and take half as
  long again.
- Its classifier of upside-down lines is off: it turned good lines over. Instead the page as a whole is
  turned and read again when what was read is doubtful.

The network is loaded at the first page that needs it and stays in the process.
"""

from __future__ import annotations

import os
from typing import Any

import msgspec

from lucius.services.ocr.layout import as_text, in_reading_order
from lucius.services.ocr.records import Line
from lucius.services.ocr.text_layer import clean

_DOUBTFUL = 0.85
"""Upright pages come out above 0.95, those on their head near 0.7."""
_TALL = 1.5
_SMALLEST = 8
_A4_AT_200 = 2400
_STRIP = 4
_loaded: dict[tuple[int, int], Any] = {}


class Recognised(msgspec.Struct, frozen=True, kw_only=True):
    """What was read from a picture."""

    text: str = ""
    lines: tuple[Line, ...] = ()
    confidence: float = 0.0
    sideways: bool = False
    """Most of the text runs up or down."""
    turned: int = 0

    @property
    def characters(self) -> int:
        """Without blanks."""
        return sum(not letter.isspace() for letter in self.text)


def recognise(picture: Any, threads: int) -> Recognised:
    """Read a picture (an array of rows, columns and BGR), turning it upright where it lies otherwise."""
    import numpy as np  # noqa: PLC0415 - comes with an extra

    first = _read(picture, threads)
    if not first.lines or (first.confidence >= _DOUBTFUL and not first.sideways):
        return first
    tried = [first]
    for turns in (1, 3) if first.sideways else (2,):
        again = _read(np.ascontiguousarray(np.rot90(picture, -turns)), threads)
        tried.append(msgspec.structs.replace(again, turned=90 * turns))
        if again.confidence >= _DOUBTFUL and not again.sideways:
            break
    return max(tried, key=lambda one: (not one.sideways, one.confidence))


def _read(picture: Any, threads: int) -> Recognised:
    if min(picture.shape[:2]) < _SMALLEST:
        return Recognised()
    found = _engine(threads, search_side(*picture.shape[:2]))(picture)
    if not found.txts:
        return Recognised()
    boxes: list[Line] = []
    tall = wide = 0
    for text, corners, score in zip(found.txts, found.boxes, found.scores, strict=True):
        xs, ys = [float(x) for x, _ in corners], [float(y) for _, y in corners]
        box = (round(min(xs), 1), round(min(ys), 1), round(max(xs), 1), round(max(ys), 1))
        boxes.append(Line(text=clean(text).strip(), box=box, confidence=round(float(score), 4)))
        if box[3] - box[1] > _TALL * (box[2] - box[0]):
            tall += len(text)
        else:
            wide += len(text)
    lines = tuple(in_reading_order(boxes))
    return Recognised(
        text=as_text(lines), lines=lines, confidence=confidence_of(lines), sideways=tall > max(wide, 3)
    )


def confidence_of(lines: tuple[Line, ...]) -> float:
    """The mean over a page, each line weighing as much as it has characters."""
    weight = sum(len(line.text) for line in lines)
    told = sum(len(line.text) * (line.confidence or 0.0) for line in lines)
    return round(told / weight, 4) if weight else 0.0


def search_side(height: int, width: int) -> int:
    """Pixels of the longer side of the picture on which boxes are looked for."""
    longer, shorter = max(height, width), max(1, min(height, width))
    if longer <= _A4_AT_200:
        return 1280
    return 5120 if longer / shorter > _STRIP else 1920


def _engine(threads: int, side: int) -> Any:
    key = (threads, side)
    if key not in _loaded:
        # Its official builds report each model that is loaded to their makers; nothing leaves this machine.
        os.environ["ORT_DISABLE_TELEMETRY"] = "1"
        import cv2  # noqa: PLC0415 - comes with an extra
        from rapidocr import RapidOCR  # noqa: PLC0415 - as above, and takes a second

        cv2.setNumThreads(threads)
        _loaded[key] = RapidOCR(
            params={
                "Global.log_level": "critical",
                "Global.use_cls": False,
                "Global.max_side_len": 20_000,
                "Det.limit_type": "max",
                "Det.limit_side_len": side,
                "Rec.rec_batch_num": 1,
                "EngineConfig.onnxruntime.intra_op_num_threads": threads,
                "EngineConfig.onnxruntime.inter_op_num_threads": 1,
            }
        )
    return _loaded[key]
