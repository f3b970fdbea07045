"""The fields of an attempt's entity in an Azure table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from azure.data.tables import EdmType, EntityProperty

from lucius.sdk.serving.ports import AttemptKey

KEY: Final = ["job_id", "step_id", "attempt_no", "lease_id"]
OWNED: Final = ["PartitionKey", "RowKey", "owner", "until", "call"]
"""Enough to say who keeps it, without directive and result."""


def key_fields(key: AttemptKey) -> dict[str, Any]:
    """The key in plain fields: the RowKey may hold only its hash."""
    return {
        "job_id": key.job_id,
        "step_id": key.step_id,
        "attempt_no": long(key.attempt_no),
        "lease_id": key.lease_id,
    }


def key_of(row: Mapping[str, Any]) -> AttemptKey:
    """The key of an entity."""
    return AttemptKey(
        job_id=row["job_id"],
        step_id=row["step_id"],
        attempt_no=number(row, "attempt_no"),
        lease_id=row["lease_id"],
    )


def long(value: int) -> EntityProperty:
    """A number that Azure keeps in 64 bits."""
    return EntityProperty(value, EdmType.INT64)


def number(row: Mapping[str, Any], field: str) -> int:
    """What `long` wrote."""
    value = row[field]
    return int(value.value if isinstance(value, EntityProperty) else value)
