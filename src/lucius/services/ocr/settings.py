"""Settings of the OCR service: `LUCIUS_OCR_*`."""

from __future__ import annotations

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class OcrSettings(BaseSettings):
    """What an operator may set. The defaults are easy on the machine: one thread, one document at a time."""

    model_config = SettingsConfigDict(env_prefix="LUCIUS_OCR_", frozen=True, extra="ignore")

    threads: int = Field(default=1, ge=1, le=256)
    """Threads that recognise one page; more only pay where cores are idle."""
    dpi: int = Field(default=150, ge=36, le=1200)
    """Dots per inch a page is rendered at where the payload names none. On print of 7 to 11 points 150 reads
    as well as 300, and 100 loses a few words."""
    max_bytes: int = Field(default=512 * 1024 * 1024, ge=1)
    """Size of the largest document."""
    max_pages: int = Field(default=2_000, ge=1)
    """Pages that are read of one document at most."""
    max_pixels: int = Field(default=25_000_000, ge=10_000)
    """Pixels a page is rendered to at most: a larger page is rendered with fewer dots per inch."""
    max_picture_pixels: int = Field(default=120_000_000, ge=10_000)
    """Pixels of the largest picture that is decoded; a larger one is refused."""
    max_memory: int = Field(default=4 * 1024**3, ge=256 * 1024**2)
    """Memory of the process that reads, in bytes: a document that needs more ends it, and nothing else."""
    page_seconds: float = Field(default=180.0, gt=0)
    """How long one page may take before the document is given up."""
