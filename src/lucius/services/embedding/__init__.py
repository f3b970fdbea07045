"""The reference EMBEDDING service: text in, chunks and their vectors out."""

from __future__ import annotations

from lucius.services.embedding.payload import EmbeddingPayload
from lucius.services.embedding.service import EmbeddingService

__all__ = ["EmbeddingPayload", "EmbeddingService"]
