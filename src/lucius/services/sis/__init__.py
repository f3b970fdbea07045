"""The reference SIS service: prompts in, answers with pages out."""

from __future__ import annotations

from lucius.services.sis.payload import SisPayload
from lucius.services.sis.service import SisService
from lucius.services.sis.settings import SisSettings

__all__ = ["SisPayload", "SisService", "SisSettings"]
