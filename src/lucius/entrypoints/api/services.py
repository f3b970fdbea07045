"""What the API needs, as one frozen record that the composition root fills in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from lucius.lifebook.desk import LifebookDesk
from lucius.security.authenticate import Authenticator
from lucius.usecases.admin import Admin
from lucius.usecases.control import Control
from lucius.usecases.directives import DirectiveDesk
from lucius.usecases.explain import Explain
from lucius.usecases.query import Hub, Query
from lucius.usecases.report import Report
from lucius.usecases.submit import Submit


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """The use cases, and the little the API asks beside them."""

    submit: Submit
    report: Report
    control: Control
    query: Query
    explain: Explain
    directives: DirectiveDesk
    admin: Admin
    authenticator: Authenticator
    ready: Callable[[], dict[str, str]]
    """Component -> `ok`, or why it is not."""
    clock: Callable[[], int]
    new_id: Callable[[], str]
    """Names incidents: an unexpected error is told by its id alone."""
    metrics_text: Callable[[str], Awaitable[tuple[bytes, str]]]
    """For an Accept header: the metrics and their content type (`Metrics.exposition`)."""
    events_hub: Hub
    version: str
    lifebook: LifebookDesk | None = None
    """None: this process serves no lifebook runs."""
