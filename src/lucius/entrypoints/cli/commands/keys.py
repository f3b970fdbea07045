"""`keys`: who may call. Works on the data directory itself, so it needs no server and no key."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lucius.entrypoints.cli.asking import agreed
from lucius.entrypoints.cli.endings import Ending, complain
from lucius.entrypoints.cli.options import Data, Yes
from lucius.entrypoints.cli.session import console, print_json
from lucius.errors import Invalid, NotFound

if TYPE_CHECKING:
    from lucius.security.keys import ApiKey

AsJson = Annotated[bool, typer.Option("--json", help="One JSON document on stdout, for programs.")]
_DAY = 86_400_000


def create(
    name: Annotated[str, typer.Argument(metavar="[NAME]", help="What it is for.")] = "key",
    *,
    tenant: Annotated[
        list[str] | None,
        typer.Option("--tenant", metavar="TENANT", help="Good for this tenant; repeatable. None: all.",
                     show_default=False),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option("--role", metavar="ROLE", show_default=False,
                     help="submit, read, operate, admin, service; repeatable. None: the first three."),
    ] = None,
    step_type: Annotated[
        list[str] | None,
        typer.Option("--step-type", metavar="TYPE", help="Steps a service may take. None: all.",
                     show_default=False),
    ] = None,
    days: Annotated[
        float | None, typer.Option("--days", min=0, help="Good for so long.", show_default=False)
    ] = None,
    data: Data = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Make a key and print it, this once."""
    from lucius.runtime import nature
    from lucius.runtime.offline import keyring
    from lucius.security.keys import Grant, mint

    tenants, roles = _scope(tenant, role)
    now = nature.now_ms()
    grant = Grant(
        name=name,
        tenants=tenants,
        roles=roles,
        step_types=frozenset(step_type) if step_type else None,
        expires_at=None if days is None else now + int(days * _DAY),
    )
    minted = mint(grant, now=now, token_bytes=nature.token_bytes)
    with keyring(directory(data)) as ring:
        first = not ring.any()
        ring.add(minted.key)
    if as_json:
        print_json(_document(minted.key) | {"key": minted.text})
        return
    typer.echo(minted.text)
    complain("this is the only time the key is shown; keep it safe.")
    if first:
        complain("it is the first one: from now on this Lucius asks every caller for a key.")


def revoke(
    key_id: Annotated[str, typer.Argument(metavar="KEY_ID", help="As `lucius keys list` shows it.")],
    *,
    data: Data = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """End a key for good; a running server refuses it from its next request on."""
    from lucius.runtime import nature
    from lucius.runtime.offline import keyring

    if not agreed(f"Revoke key {key_id} for good?", yes=yes):
        raise typer.Exit(Ending.REFUSED)
    with keyring(directory(data)) as ring:
        try:
            ended = ring.revoke(key_id, nature.now_ms())
        except NotFound as error:
            message = f"{error.message} `lucius keys list` shows those there are."
            raise NotFound(message, code="NO_SUCH_KEY") from None
    if as_json:
        print_json({"key_id": key_id, "revoked": True, "changed": ended})
    else:
        typer.echo(f"✓ {key_id} {'is revoked' if ended else 'was revoked before'}.")


def listing(*, data: Data = None, as_json: AsJson = False) -> None:
    """List the keys ever made, without their secrets."""
    from lucius.entrypoints.cli.show.operating import keys as table
    from lucius.runtime import nature
    from lucius.runtime.offline import keyring

    with keyring(directory(data)) as ring:
        found = [_document(key) for key in ring.list()]
    if as_json:
        print_json({"keys": found})
    elif found:
        console().print(table(found, nature.now_ms()))
    else:
        complain("no keys yet: Lucius serves this machine only, without asking who calls.")


def directory(data: Path | None) -> Path:
    """The data directory that was named, or the usual one."""
    return data or Path(os.environ.get("LUCIUS_DATA") or "data")


def _scope(tenant: list[str] | None, role: list[str] | None) -> tuple[Any, Any]:
    from lucius.security.principal import Role, role_set, tenant_set

    usual = ["submit", "read", "operate"]
    unknown = set(role or ()) - {one.value for one in Role}
    if unknown:
        known = ", ".join(one.value for one in Role)
        message = f"There is no role {', '.join(sorted(unknown))}; roles are {known}."
        raise Invalid(message, code="UNKNOWN_ROLE")
    try:
        return tenant_set(tenant or "*"), role_set(role or usual)
    except ValueError as error:
        raise Invalid(f"{str(error).capitalize()}.", code="BAD_SCOPE") from None


def _document(key: ApiKey) -> dict[str, Any]:
    from lucius.wire.timestamps import iso

    who = key.principal
    return {
        "key_id": key.key_id,
        "name": key.name,
        "tenants": None if who.tenants is None else sorted(who.tenants),
        "roles": sorted(who.roles),
        "step_types": None if who.step_types is None else sorted(who.step_types),
        "created_at": iso(key.created_at),
        "expires_at": None if key.expires_at is None else iso(key.expires_at),
        "revoked_at": None if key.revoked_at is None else iso(key.revoked_at),
    }
