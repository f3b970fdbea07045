"""An open picture: PNG, JPEG, WebP, BMP, GIF (the first frame), or TIFF with its pages."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from lucius.sdk.serving.outcomes import Final
from lucius.services.ocr.engine import recognise
from lucius.services.ocr.records import PageText, Task
from lucius.services.ocr.sniffing import Kind

_FORMATS = {
    Kind.PNG: "PNG",
    Kind.JPEG: "JPEG",
    Kind.TIFF: "TIFF",
    Kind.WEBP: "WEBP",
    Kind.BMP: "BMP",
    Kind.GIF: "GIF",
}
Image.MAX_IMAGE_PIXELS = None
"""Our own limit counts, which an operator can raise; Pillow would call a large picture a damaged one."""
_DEEP = ("I", "F")
"""Modes with more than eight bits a channel begin so."""


class PictureFile:
    """Pages by number, from 1."""

    complete = True

    def __init__(self, task: Task, kind: Kind) -> None:
        self._task = task
        self._kind = kind
        self._image = self._guarded("opened", self._open)
        self.count = int(self._guarded("opened", lambda: getattr(self._image, "n_frames", 1)))
        if kind is not Kind.TIFF:
            self.count = 1  # frames of an animation are not pages

    def layer(self, number: int) -> None:
        """A picture has no text of its own."""

    def recognise(self, number: int) -> PageText:
        """One page of it, read."""
        pixels = self._guarded(f"decoded (page {number})", lambda: self._pixels(number))
        found = recognise(pixels, self._task.threads)
        height, width = pixels.shape[:2]
        if found.turned % 180:
            width, height = height, width
        return PageText(
            page=number,
            method="recognised" if found.lines else "empty",
            text=found.text,
            confidence=found.confidence if found.lines else None,
            width=width,
            height=height,
            unit="pixel",
            turned=found.turned,
            lines=found.lines,
        )

    def close(self) -> None:
        """Let go of the file."""
        self._image.close()

    def _open(self) -> Any:
        return Image.open(self._task.path, formats=(_FORMATS[self._kind],))

    def _pixels(self, number: int) -> Any:
        self._image.seek(number - 1)
        width, height = self._image.size
        if width * height > self._task.max_picture_pixels:
            limit = self._task.max_picture_pixels
            raise Final(
                "IMAGE_TOO_LARGE", f"The picture has {width} × {height} pixels; {limit:,} in all are allowed."
            )
        shown = ImageOps.exif_transpose(_flat(self._image))
        if width * height > self._task.max_pixels:
            factor = (self._task.max_pixels / (width * height)) ** 0.5
            shown = shown.resize((max(1, int(shown.width * factor)), max(1, int(shown.height * factor))))
        return np.ascontiguousarray(np.asarray(shown)[:, :, ::-1])  # RGB to BGR

    def _guarded(self, verb: str, act: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # odd metadata; what cannot be decoded raises
                return act()
        except Final:
            raise
        except Exception as error:  # noqa: BLE001 - decoders raise whatever a damaged file leads them to
            name = _FORMATS[self._kind]
            message = f"The file begins like a {name} picture but is damaged and cannot be {verb}: {error}."
            raise Final("IMAGE_BROKEN", message[:500]) from None


def _flat(image: Any) -> Any:
    """As RGB with eight bits a channel; what is transparent becomes white."""
    if image.mode.startswith(_DEEP):
        values = np.asarray(image, dtype=np.float64)
        low, high = float(values.min()), float(values.max())
        grey = (values - low) * (255.0 / (high - low)) if high > low else np.full_like(values, 255.0)
        return Image.fromarray(grey.astype(np.uint8)).convert("RGB")
    if "A" in image.mode or "transparency" in image.info:
        clear = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", clear.size, "white"), clear).convert("RGB")
    return image.convert("RGB")
