"""How our records are stored in Temporal: plain JSON, readable in its own tools.

The same converter belongs on every client, worker and replayer.
"""

from __future__ import annotations

from typing import Any

import msgspec
from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
)


class RecordConverter(JSONPlainPayloadConverter):
    """Records the way the ledger writes them; everything else the way Temporal does."""

    def to_payload(self, value: Any) -> Payload | None:
        """Readable JSON."""
        if isinstance(value, msgspec.Struct):
            return Payload(metadata={"encoding": b"json/plain"}, data=msgspec.json.encode(value))
        return super().to_payload(value)

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        """A record where one is expected."""
        if isinstance(type_hint, type) and issubclass(type_hint, msgspec.Struct):
            return msgspec.json.decode(payload.data, type=type_hint)
        return super().from_payload(payload, type_hint)


class LuciusPayloadConverter(CompositePayloadConverter):
    """Temporal's own converters with ours in place of its JSON."""

    def __init__(self) -> None:
        super().__init__(
            *(
                RecordConverter() if isinstance(given, JSONPlainPayloadConverter) else given
                for given in DefaultPayloadConverter.default_encoding_payload_converters
            )
        )


DATA_CONVERTER = DataConverter(payload_converter_class=LuciusPayloadConverter)
