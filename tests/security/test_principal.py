from __future__ import annotations

import pytest

from lucius.errors import Forbidden
from lucius.security.principal import (
    Principal,
    Role,
    may,
    missing,
    require,
    require_everywhere,
    role_set,
    sees,
    serves,
    tenant_set,
)


def holder(*roles: Role, tenants: frozenset[str] | None = frozenset({"acme"})) -> Principal:
    """A principal of one tenant unless told otherwise."""
    return Principal(subject="key:test", tenants=tenants, roles=frozenset(roles))


@pytest.mark.parametrize(
    ("held", "given"),
    [
        (Role.SUBMIT, {Role.SUBMIT}),
        (Role.READ, {Role.READ}),
        (Role.OPERATE, {Role.OPERATE, Role.READ}),
        (Role.SERVICE, {Role.SERVICE}),
        (Role.ADMIN, set(Role)),
    ],
)
def test_a_role_gives_exactly_what_it_says(held: Role, given: set[Role]) -> None:
    """Only admin and operate hold roles beside their own."""
    assert {role for role in Role if may(holder(held), role)} == given


@pytest.mark.parametrize("role", Role)
def test_no_role_reaches_into_another_tenant(role: Role) -> None:
    """A credential of one tenant is refused for another, whatever its roles."""
    principal = holder(role)
    require(principal, role, "acme")
    assert not sees(principal, "globex")
    with pytest.raises(Forbidden) as refused:
        require(principal, role, "globex")
    assert refused.value.code == "TENANT_FORBIDDEN"


def test_a_missing_role_is_refused_before_any_tenant() -> None:
    """The answer to the wrong role does not depend on the tenant asked for."""
    messages = set()
    for tenant in ("acme", "globex", None):
        with pytest.raises(Forbidden) as refused:
            require(holder(Role.READ), Role.SUBMIT, tenant)
        messages.add((refused.value.code, refused.value.message))
    assert len(messages) == 1


def test_system_wide_acts_need_a_system_wide_credential() -> None:
    """A tenant's admin is not everybody's admin."""
    require_everywhere(holder(Role.ADMIN, tenants=None), Role.ADMIN)
    with pytest.raises(Forbidden):
        require_everywhere(holder(Role.ADMIN), Role.ADMIN)


def test_services_take_only_their_step_types() -> None:
    """A service credential may be limited to some steps, and the service role is needed at all."""
    ocr = Principal(subject="s", tenants=None, roles=frozenset({Role.SERVICE}), step_types=frozenset({"OCR"}))
    assert serves(ocr, "OCR")
    assert not serves(ocr, "SIS")
    assert serves(holder(Role.SERVICE), "SIS")
    assert not serves(holder(Role.SUBMIT), "OCR")


def test_foreign_and_missing_are_one_answer() -> None:
    """The 404 for an id depends on the id alone."""
    first, second = missing("job", "j1"), missing("job", "j1")
    assert (first.code, first.status, first.message) == (second.code, second.status, second.message)
    assert "j1" in first.message


def test_tenants_from_outside_are_normalised_and_checked() -> None:
    """Names are trimmed and lowered as everywhere, and a star stands alone."""
    assert tenant_set(" ACME ") == frozenset({"acme"})
    assert tenant_set(["a", "b"]) == frozenset({"a", "b"})
    assert tenant_set("*") is None
    for bad in (
        [],
        None,
        7,
        {"acme": 1},
        ["*", "acme"],
        ["../x"],
        ["a b"],
        [None],
        [["a"]],
        "",
        ["-a"],
        ["a" * 64],
    ):
        with pytest.raises(ValueError, match="tenant"):
            tenant_set(bad)


def test_roles_from_outside_keep_only_ours() -> None:
    """Roles of other systems in the same claim do no harm, and none of ours is an error."""
    assert role_set(["read", "wiki-editor"]) == {Role.READ}
    assert role_set("admin") == {Role.ADMIN}
    for bad in ([], ["root"], None, 7, {"admin": True}, [["admin"]]):
        with pytest.raises(ValueError, match="roles"):
            role_set(bad)
