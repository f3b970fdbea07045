"""What EMBEDDING can be asked for."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, model_validator

DEFAULT_SIZE = 800
DEFAULT_OVERLAP = 100


class EmbeddingPayload(BaseModel):
    """How to cut the text and how long the vectors are. Fields it does not know are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: str | None = Field(default=None, min_length=1, max_length=200)
    """The embedding model; there is one, so this only guards against expecting another."""
    chunk_size: int = Field(default=DEFAULT_SIZE, ge=1, le=100_000)
    """Characters of a chunk, at most."""
    chunk_overlap: int | None = Field(default=None, ge=0, le=100_000)
    """Characters that neighbours share, at most; by default 100, or an eighth of a small chunk."""
    dimensions: int | None = Field(default=None, ge=1, le=65_536)
    """Numbers of a vector: 64, 128 or 256 (the default)."""

    @model_validator(mode="after")
    def _leaves_room(self) -> EmbeddingPayload:
        if self.overlap >= self.chunk_size:
            raise ValueError(
                f"chunk_overlap ({self.overlap}) must be smaller than chunk_size ({self.chunk_size})"
            )
        return self

    @property
    def overlap(self) -> int:
        """The overlap that counts."""
        if self.chunk_overlap is None:
            return min(DEFAULT_OVERLAP, self.chunk_size // 8)
        return self.chunk_overlap
