"""Reading documents and writing artifacts: a local directory, Azure Blob or S3 behind one interface."""

from __future__ import annotations

from lucius.sdk.workspaces.source import Source
from lucius.sdk.workspaces.workspace import Workspace

__all__ = ["Source", "Workspace"]
