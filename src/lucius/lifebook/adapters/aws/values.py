"""The types of DynamoDB, `{"S": …}` and so on, and plain values. Numbers are exact, floats are refused."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

Item = dict[str, Any]
"""Attributes as plain values; numbers that were read are `Decimal`."""


def to_wire(item: Mapping[str, Any]) -> dict[str, Any]:
    """An item as requests carry it."""
    return {name: _typed(value) for name, value in item.items()}


def from_wire(item: Mapping[str, Any]) -> Item:
    """An item as answers carry it, in plain values."""
    return {name: _plain(value) for name, value in item.items()}


def _typed(value: Any) -> dict[str, Any]:
    match value:
        case str():
            return {"S": value}
        case bool():
            return {"BOOL": value}
        case int() | Decimal():
            return {"N": f"{Decimal(value).normalize():f}"}  # as DynamoDB itself writes it
        case list() | tuple():
            return {"L": [_typed(each) for each in value]}
        case Mapping():
            return {"M": to_wire(value)}
        case _:
            raise TypeError(f"DynamoDB has no type for {type(value).__name__}")


def _plain(typed: Mapping[str, Any]) -> Any:
    [(kind, value)] = typed.items()
    match kind:
        case "N":
            return Decimal(value)
        case "L":
            return [_plain(each) for each in value]
        case "M":
            return from_wire(value)
        case "NULL":
            return None
        case _:
            return value
