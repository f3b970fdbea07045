"""How our records are stored in Temporal: plain JSON, readable in its own tools.

The same converter belongs on every client, worker and replayer.

A worker runs workflows in threads, and msgspec may crash the process when two threads meet a record for the
first time together. So every record that is ever read has its decoder before the first thread starts.
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

from lucius.engines.temporal.messages import JobControl, Outcome, Start, StepAck, StepResultTold, Told
from lucius.ports.invoker import Advance, Advanced, Attempted

_DECODERS: dict[type, msgspec.json.Decoder[Any]] = {
    record: msgspec.json.Decoder(record)
    for record in (
        Advance, Advanced, Attempted, Outcome, Start, StepAck, StepResultTold, JobControl, Told,
    )
}  # fmt: skip


class RecordConverter(JSONPlainPayloadConverter):
    """Records the way the ledger writes them; everything else the way Temporal does."""

    def to_payload(self, value: Any) -> Payload | None:
        """Readable JSON."""
        if isinstance(value, msgspec.Struct):
            return Payload(metadata={"encoding": b"json/plain"}, data=msgspec.json.encode(value))
        return super().to_payload(value)

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        """A record where one is expected."""
        decoder = _DECODERS.get(type_hint) if type_hint is not None else None
        if decoder is not None:
            return decoder.decode(payload.data)
        if isinstance(type_hint, type) and issubclass(type_hint, msgspec.Struct):
            message = f"{type_hint.__name__} has no decoder in {__name__}"
            raise TypeError(message)
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
