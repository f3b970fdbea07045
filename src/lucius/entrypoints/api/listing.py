"""The filters of `GET /v1/jobs`: from query parameters to a question for the ledger."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from lucius.core.routing import normalise
from lucius.core.states import JOB_STATUS, JobState
from lucius.entrypoints.api.cursors import cursor_after, id_in
from lucius.errors import Invalid, Problem
from lucius.ports.ledger import JobQuery
from lucius.wire.timestamps import parse_iso
from lucius.wire.views import JobStatus

TENANT = r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$"
_TIME = "ISO-8601 with a zone, as 2026-01-27T10:02:00Z"


class Paging(BaseModel):
    """How much, and from where."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: Annotated[str, Field(min_length=1, max_length=400)] | None = None


class TenantPaging(Paging):
    """One tenant, or all that the credential sees."""

    tenant_id: Annotated[str, Field(pattern=TENANT)] | None = None

    def tenants(self) -> frozenset[str] | None:
        """The tenant asked for, in its one spelling."""
        return None if self.tenant_id is None else frozenset({normalise(self.tenant_id)})

    def query(self) -> JobQuery:
        """The question for the ledger."""
        return JobQuery(tenants=self.tenants(), before_id=id_in(self.cursor, self.asked()), limit=self.limit)

    def asked(self) -> tuple[Any, ...]:
        """Everything but the page: what a cursor belongs to."""
        return tuple(self.model_dump(exclude={"limit", "cursor"}).items())

    def next_cursor(self, ids: list[str]) -> str | None:
        """The cursor of the next page; None when this one was not full."""
        return cursor_after(ids[-1], self.asked()) if len(ids) == self.limit else None


class JobFilters(TenantPaging):
    """Which jobs."""

    state: Annotated[
        list[JobState], Field(max_length=9, description="Exact states; several: any of them")
    ] = []
    status: Annotated[
        list[JobStatus], Field(max_length=9, description="Coarse states; several: any of them")
    ] = []
    request_type: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    doc_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    correlation_id: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    created_from: Annotated[str, Field(description=_TIME)] | None = None
    created_before: Annotated[str, Field(description=_TIME)] | None = None

    def states(self) -> tuple[str, ...] | None:
        """The states asked for; empty: all of them; None: the two filters exclude each other."""
        if not self.state and not self.status:
            return ()
        exact = set(self.state) or set(JobState)
        coarse = {state for state in JobState if not self.status or JOB_STATUS[state] in self.status}
        return tuple(sorted(state.value for state in exact & coarse)) or None

    def query(self) -> JobQuery:
        """The question for the ledger."""
        return JobQuery(
            tenants=self.tenants(),
            states=self.states() or (),
            request_type=self.request_type,
            doc_id=self.doc_id,
            correlation_id=self.correlation_id,
            created_from=_time("created_from", self.created_from),
            created_before=_time("created_before", self.created_before),
            before_id=id_in(self.cursor, self.asked()),
            limit=self.limit,
        )


def _time(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_iso(text)
    except Invalid as error:
        problem = Problem(pointer=f"/query/{name}", code=error.code, message=error.message)
        raise Invalid(error.message, code=error.code, problems=(problem,)) from None
