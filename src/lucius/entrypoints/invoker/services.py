"""What the internal API needs, as one frozen record that the composition root fills in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from lucius.entrypoints.invoker.tokens import BearerTokens
from lucius.ports.invoker import Invoker


class InvokerServices(msgspec.Struct, frozen=True, kw_only=True):
    """The invoker, and the little the API asks beside it."""

    invoker: Invoker
    tokens: BearerTokens
    ready: Callable[[], dict[str, str]]
    """Component -> `ok`, or why it is not."""
    draining: Callable[[], bool]
    """Whether the process is about to end: nothing new is begun, what runs may finish."""
    new_id: Callable[[], str]
    """Names incidents: an unexpected error is told by its id alone."""
    metrics_text: Callable[[str], Awaitable[tuple[bytes, str]]]
    """For an Accept header: the metrics and their content type (`Metrics.exposition`)."""
    version: str
