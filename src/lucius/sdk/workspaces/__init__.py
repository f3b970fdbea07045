"""Reading documents and writing artifacts: a local directory, Azure Blob or S3 behind one interface.

`Stores` opens what references name: a `Source` to read from, the `Workspace` an attempt writes into.
Nothing is ever held in memory as a whole unless `Source.read` is asked for it; every file that is written
comes back with content type, size and SHA-256, and what a reference says of them is checked on reading.
"""

from __future__ import annotations

from lucius.sdk.workspaces.clouds import Patience
from lucius.sdk.workspaces.source import Source
from lucius.sdk.workspaces.stores import Stores
from lucius.sdk.workspaces.workspace import Workspace

__all__ = ["Patience", "Source", "Stores", "Workspace"]
