"""The commands that are submitted: bytes made beforehand, each one unlike all others."""

from __future__ import annotations

import json
from typing import Any

REQUEST_TYPE = "OCR_EMBEDDING_SIS"
TENANTS = tuple(f"tenant-{number}" for number in range(8))
SLOT = "############"
"""Twelve characters that the generator replaces by a number: same length, other document, other key."""


def envelope(tenant: str, **more: Any) -> dict[str, Any]:
    """A command for a job of three steps."""
    return {
        "tenant_id": tenant,
        "request_type": REQUEST_TYPE,
        "input_ref": {"uri": f"s3://bench-bucket/inbox/{SLOT}.pdf"},
        "output_ref": {"uri": f"s3://bench-bucket/outbox/{SLOT}/"},
        "payload": {
            "ocr": {"language": "en", "dpi": 300},
            "embedding": {"chunk_size": 512, "chunk_overlap": 64},
            "sis": {"prompt_set": "summary"},
        },
        "schema_version": "1",
        **more,
    }


def post(path: str, body: dict[str, Any], port: int) -> str:
    """A whole request; SLOT is still in it."""
    text = json.dumps(body, separators=(",", ":"))
    return (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(text)}\r\n\r\n{text}"
    )


def get(path: str, port: int) -> str:
    """A whole request."""
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"


def submits(port: int, **more: Any) -> list[str]:
    """One request a tenant."""
    return [post("/v1/orchestrate", envelope(tenant, **more), port) for tenant in TENANTS]
