"""Content types by file name, the same on every machine: the system's own list is not asked."""

from __future__ import annotations

import mimetypes

UNKNOWN = "application/octet-stream"

_types = mimetypes.MimeTypes(filenames=())
for _type, _ending in (
    ("application/vnd.apache.parquet", ".parquet"),
    ("application/x-ndjson", ".jsonl"),
    ("application/x-ndjson", ".ndjson"),
    ("application/yaml", ".yaml"),
    ("application/yaml", ".yml"),
    ("image/jp2", ".jp2"),
    ("image/webp", ".webp"),
    ("text/markdown", ".md"),
):
    _types.add_type(_type, _ending)


def by_name(name: str) -> str | None:
    """What a file of this name usually holds, or None. A compressed file is what compressed it."""
    kind, encoding = _types.guess_type(name.rpartition("/")[2])
    return {"gzip": "application/gzip", "bzip2": "application/x-bzip2", "xz": "application/x-xz"}.get(
        encoding or "", None if encoding else kind
    )
