"""After a start: a volatile bus has forgotten every message, so open attempts are published again.

The same bytes, attempt and lease go out. A service that is still at work sees a duplicate and does
nothing twice; one that died with the bus gets its work back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lucius.ports.duties import Report

if TYPE_CHECKING:
    from lucius.dispatch.relay import Relay
    from lucius.ports.ledger import Ledger


async def recover(ledger: Ledger, relay: Relay, *, page: int = 500) -> Report:
    """Offer every open attempt to the relay, a page at a time."""
    jobs = offered = 0
    after = ""
    while ids := await ledger.open_attempts(after=after, limit=page):
        after = ids[-1]
        jobs += len(ids)
        offered += await relay.refetch(ids)
    return Report(duty="recovery", acted=offered, details={"open_jobs": jobs})
