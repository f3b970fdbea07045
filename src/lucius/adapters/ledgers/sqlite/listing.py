"""The question that finds a page of jobs, newest first, without reading jobs that are not on it.

Ids are time-ordered, so the key is the order. Three forms, each of which reads about as many rows as it
returns, however many are stored:

    named    a document or a correlation id: few jobs have it, the rest is judged row by row
    plain    everything, or everything of one tenant: the key itself
    picked   by state or request type: each tenant's and each state's newest ones are picked by their index,
             then merged. With no tenant named, the index is read tenant by tenant, so this one costs a
             little for every tenant there is.

A state and a request type together are judged row by row on the state's index.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lucius.ports.ledger import JobQuery

Question = tuple[str, tuple[Any, ...]]

BODIES = "SELECT o.body, p.body, j.body FROM"
ORDER = "JOIN orders o ON o.job_id = j.job_id JOIN protocols p ON p.digest = o.protocol"
_ALL_TENANTS = (
    "WITH RECURSIVE scope (tenant) AS (SELECT min(tenant_id) FROM jobs UNION ALL "
    "SELECT (SELECT min(t.tenant_id) FROM jobs t WHERE t.tenant_id > scope.tenant) FROM scope "
    "WHERE scope.tenant IS NOT NULL) "
)
_THESE_TENANTS = "WITH scope (tenant) AS (SELECT value FROM json_each(?)) "
_PICKED = (
    "(SELECT k.job_id AS picked FROM scope {wanted} CROSS JOIN jobs k ON k.job_id IN ("
    "SELECT c.job_id FROM jobs c WHERE {where} ORDER BY c.job_id DESC LIMIT ?) "
    "ORDER BY k.job_id DESC LIMIT ?) CROSS JOIN jobs j ON j.job_id = picked"
)


def page_of(query: JobQuery) -> Question:
    """The statement and its values."""
    if query.doc_id is not None or query.correlation_id is not None:
        return _named(query)
    if not query.states and query.request_type is None and _one_or_all(query):
        return _plain(query)
    return _picked(query)


def _one_or_all(query: JobQuery) -> bool:
    return query.tenants is None or len(query.tenants) == 1


def _named(query: JobQuery) -> Question:
    """A plus sign keeps the planner from the index of what stands behind it."""
    where, values = _range(query, "+j")
    for column, value in (("j.doc_id", query.doc_id), ("j.correlation_id", query.correlation_id)):
        if value is not None:
            where.append(f"{column} = ?")
            values.append(value)
    if query.tenants is not None:
        column = "+j.tenant_id" if query.doc_id is None else "j.tenant_id"
        where.append(f"{column} IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(sorted(query.tenants)))
    if query.states:
        where.append("+j.state IN (SELECT value FROM json_each(?))")
        values.append(json.dumps(list(query.states)))
    if query.request_type is not None:
        where.append("+j.request_type = ?")
        values.append(query.request_type)
    return _ordered(where, values, query.limit)


def _plain(query: JobQuery) -> Question:
    where, values = _range(query, "j")
    for tenant in query.tenants or ():
        where.append("j.tenant_id = ?")
        values.append(tenant)
    return _ordered(where, values, query.limit)


def _ordered(where: list[str], values: list[Any], limit: int) -> Question:
    found = " AND ".join(where) or "true"
    return f"{BODIES} jobs j {ORDER} WHERE {found} ORDER BY j.job_id DESC LIMIT ?", (*values, limit)


def _picked(query: JobQuery) -> Question:
    values: list[Any] = [] if query.tenants is None else [json.dumps(sorted(query.tenants))]
    where, wanted = ["c.tenant_id = scope.tenant"], ""
    if query.states:
        wanted = "CROSS JOIN json_each(?) AS state"
        values.append(json.dumps(list(query.states)))
        where.append("c.state = state.value")
    if query.request_type is not None:
        where.append("c.request_type = ?" if not query.states else "+c.request_type = ?")
        values.append(query.request_type)
    bounds, more = _range(query, "c")
    picked = _PICKED.format(wanted=wanted, where=" AND ".join([*where, *bounds]))
    scope = _ALL_TENANTS if query.tenants is None else _THESE_TENANTS
    sql = f"{scope}{BODIES} {picked} {ORDER} ORDER BY j.job_id DESC"
    return sql, (*values, *more, query.limit, query.limit)


def _range(query: JobQuery, table: str) -> tuple[list[str], list[Any]]:
    """Times and cursors are ranges of the key."""
    bounds = (
        (">=", None if query.created_from is None else _first_id(query.created_from)),
        ("<", None if query.created_before is None else _first_id(query.created_before)),
        ("<", query.before_id),
    )
    found = [(f"{table}.job_id {sign} ?", value) for sign, value in bounds if value is not None]
    return [sql for sql, _ in found], [value for _, value in found]


def _first_id(milliseconds: int) -> str:
    """The smallest UUIDv7 of that instant."""
    digits = f"{max(0, milliseconds):012x}"
    return f"{digits[:8]}-{digits[8:12]}"
