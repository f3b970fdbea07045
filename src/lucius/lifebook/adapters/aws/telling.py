"""`EventBridgeAnalytics`: events of runs go to a bus, under the contract's names.

An event may come twice, after a crash between telling and noting: its `event_id` is the same then.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from lucius.errors import Unavailable
from lucius.lifebook.adapters.aws.faults import CODE, mapped
from lucius.lifebook.adapters.aws.names import EVENT_BUS, EVENT_SOURCE
from lucius.lifebook.core.events import RunEvent
from lucius.lifebook.item import detail_of


class EventBridgeAnalytics:
    """Tells a bus."""

    def __init__(self, client: Any, *, bus: str = EVENT_BUS) -> None:
        """`client`: of `connect`, who closes it."""
        self._client = client
        self._bus = bus

    async def tell(self, event: RunEvent) -> None:
        """Put the event on the bus; raises `Unavailable` if the bus did not take it."""
        entry = {
            "Source": EVENT_SOURCE,
            "DetailType": event.name,
            "Detail": msgspec.json.encode(detail_of(event)).decode(),
            "EventBusName": self._bus,
            "Time": datetime.fromtimestamp(event.completed_at / 1000, UTC),
        }
        with mapped(f"tell the bus {self._bus}"):
            answer = await self._client.put_events(Entries=[entry])
        if answer.get("FailedEntryCount"):
            reason = answer["Entries"][0]
            text = f"{reason.get('ErrorCode')}: {reason.get('ErrorMessage')}"
            raise Unavailable(f"The bus {self._bus} did not take {event.event_id}: {text}", code=CODE)

    async def close(self) -> None:
        """Nothing: whoever opened the client closes it."""
