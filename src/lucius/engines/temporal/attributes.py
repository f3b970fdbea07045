"""Search attributes: what Temporal's own lists can be filtered by."""

from __future__ import annotations

from temporalio.common import SearchAttributeKey

TENANT = SearchAttributeKey.for_keyword("LuciusTenant")
PROTOCOL = SearchAttributeKey.for_keyword("LuciusProtocol")
STATUS = SearchAttributeKey.for_keyword("LuciusStatus")
