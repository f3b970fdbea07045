"""A principal: whose request this is, and what it may touch.

Roles stand for themselves except two: `admin` holds every role, `operate` may also read. `submit`
alone cannot read, so that a gateway may feed jobs in without seeing any.

Somebody else's object and a missing object are one answer, `missing(...)`, byte for byte.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

from lucius.errors import Forbidden, NotFound

_TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


class Role(StrEnum):
    """What a credential may do within its tenants."""

    SUBMIT = "submit"
    READ = "read"
    OPERATE = "operate"
    ADMIN = "admin"
    SERVICE = "service"


#: role -> the roles that hold it
HELD_BY: dict[Role, frozenset[Role]] = {role: frozenset({role, Role.ADMIN}) for role in Role} | {
    Role.READ: frozenset({Role.READ, Role.OPERATE, Role.ADMIN}),
}


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """An authenticated caller."""

    subject: str
    tenants: frozenset[str] | None
    """None: every tenant."""
    roles: frozenset[Role]
    step_types: frozenset[str] | None = None
    """Which steps a service may take; None: every step type."""
    open: bool = False
    """True for the caller without a credential on a Lucius that has none configured."""


ANONYMOUS = Principal(subject="anonymous", tenants=None, roles=frozenset(Role), open=True)


def sees(principal: Principal, tenant: str) -> bool:
    """Whether anything of this tenant exists as far as the principal can tell."""
    return principal.tenants is None or tenant in principal.tenants


def may(principal: Principal, role: Role) -> bool:
    """Whether the principal holds a role, itself or through another."""
    return not HELD_BY[role].isdisjoint(principal.roles)


def serves(principal: Principal, step_type: str) -> bool:
    """Whether a service principal may take directives of this step type."""
    return may(principal, Role.SERVICE) and (
        principal.step_types is None or step_type in principal.step_types
    )


def require(principal: Principal, role: Role, tenant: str | None = None) -> None:
    """Raise `Forbidden` unless the principal holds the role (and the tenant, when one is named).

    The answer does not depend on whether the tenant or anything in it exists.
    """
    if not may(principal, role):
        raise Forbidden(f"{principal.subject} lacks the role {role.value}; use a credential that has it.")
    if tenant is not None and not sees(principal, tenant):
        raise Forbidden(
            f"{principal.subject} has no access to that tenant; use a credential of that tenant.",
            code="TENANT_FORBIDDEN",
        )


def require_everywhere(principal: Principal, role: Role) -> None:
    """Raise `Forbidden` unless the principal holds the role for the whole system, not for some tenants."""
    require(principal, role)
    if principal.tenants is not None:
        raise Forbidden(
            f"{principal.subject} is limited to some tenants and this concerns all of them; "
            "use a credential for all tenants.",
            code="TENANT_FORBIDDEN",
        )


def missing(kind: str, object_id: str) -> NotFound:
    """The one answer for an unknown id and for somebody else's."""
    return NotFound(f"There is no {kind} {object_id}.")


def tenant_set(names: object) -> frozenset[str] | None:
    """Read tenants from outside: a name, a list of names, or `*` for all of them; raise `ValueError`."""
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, (list, tuple, set, frozenset)) or not listed:
        raise ValueError("tenants must be a name, a list of names, or *")
    if list(listed) == ["*"]:
        return None
    tenants = frozenset(name.strip().lower() if isinstance(name, str) else "" for name in listed)
    if not all(_TENANT.fullmatch(name) for name in tenants):
        raise ValueError("a tenant name is 1 to 63 of a-z, 0-9, _ and -, starting with a letter or digit")
    return tenants


def role_set(names: object) -> frozenset[Role]:
    """Read roles from outside, leaving out names that are not ours; raise `ValueError` when none is."""
    listed = [names] if isinstance(names, str) else names
    if not isinstance(listed, (list, tuple, set, frozenset)):
        raise ValueError("roles must be a name or a list of names")  # noqa: TRY004 - one error for bad input
    roles = frozenset(Role(name) for name in listed if isinstance(name, str) and name in _ROLE_NAMES)
    if not roles:
        raise ValueError(f"roles must hold at least one of {', '.join(sorted(_ROLE_NAMES))}")
    return roles


_ROLE_NAMES = frozenset(role.value for role in Role)
