"""Calls for people who run Lucius: dead letters, lanes, limits, protocols, readiness."""

from __future__ import annotations

from typing import Any

from lucius.sdk.call import Call, Param, given, segment

Document = dict[str, Any]


def dead_letters(**filters: Param) -> Call[Document]:
    """Jobs that failed for good, newest first."""
    return _look("/v1/admin/dead-letters", **filters)


def redrive(job_id: str) -> Call[Document]:
    """Run a dead job again, as a new one. Asked twice, it is the same new one."""
    return Call(
        method="POST",
        path=f"/v1/admin/dead-letters/{segment(job_id)}:redrive",
        answer=Document,
        repeatable=True,
    )


def lanes(tenant: str | None = None, doc_id: str | None = None) -> Call[Document]:
    """Which lane a tenant (and document) goes to, and how full the lanes are."""
    return _look("/v1/admin/lanes", tenant_id=tenant, doc_id=doc_id)


def limits(tenant: str | None = None) -> Call[Document]:
    """How much is in flight, against what is allowed."""
    return _look("/v1/admin/limits", tenant_id=tenant)


def protocols() -> Call[Document]:
    """The recipes jobs are made from."""
    return _look("/v1/protocols")


def ready() -> Call[Document]:
    """Whether the server takes jobs now."""
    return _look("/readyz")


def _look(path: str, **params: Param) -> Call[Document]:
    return Call(method="GET", path=path, answer=Document, repeatable=True, params=given(**params))
