"""Schematics: what Lucius is configured to do, as one immutable catalogue.

State model: an adapter holds one `Catalogue` and replaces it whole when its source has a new good
version. Readers take `current()` once per request and keep what they took: a catalogue never
changes under them, and a job stores its own copy of its protocol. A source that is away or wrong
changes nothing: the last good catalogue stays, and the `ReloadReport` says what is the matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Protocol

import msgspec

from lucius.core import protocol as recipes
from lucius.core.admission import Limits
from lucius.core.pointer import shortened
from lucius.core.refs import RefPolicy, RefRules
from lucius.core.routing import RoutingPolicy


class ConfigProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong with the configuration, where it is written, and what would be right."""

    file: str
    line: int
    column: int
    pointer: str
    message: str
    remedy: str

    def __str__(self) -> str:
        where = f" {shortened(self.pointer)}" if self.pointer else ""
        text = f"{self.file}:{self.line}:{self.column}{where}: {self.message}; {self.remedy}"
        # Keys come from the file: what a terminal would act on is not printed.
        return "".join(letter if letter.isprintable() else "?" for letter in text)


class TenantSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What is configured for one tenant, with the general settings filled in."""

    tenant_id: str
    enabled: bool = True
    mode: str | None = None
    """The tenant's own default mode; None: the general one counts."""
    burst_allowed: bool = True
    limits: Limits = Limits()
    refs: RefRules = RefRules()
    """What of the reference policy is different for this tenant."""


class Catalogue(msgspec.Struct, frozen=True, kw_only=True):
    """Everything configured, at one moment."""

    version: str
    """A hash of the configuration's content: equal versions, equal catalogues."""
    loaded_at: int
    defaults: TenantSettings
    """What counts for a tenant that is not listed; its id is empty."""
    routing: RoutingPolicy
    """Modes and topics, general and by tenant, as `route` takes them."""
    ref_policy: RefPolicy
    """Which references may be named, by anybody and by each tenant, as `check_ref` takes it."""
    by_name: Mapping[str, recipes.Protocol] = MappingProxyType({})
    tenants: Mapping[str, TenantSettings] = MappingProxyType({})

    @property
    def default_mode(self) -> str:
        """The mode of a job for which neither request nor tenant names one."""
        return self.routing.mode

    @property
    def two_grids(self) -> bool:
        """True: each mode has topics of its own."""
        return self.routing.two_grids

    def protocol(self, request_type: str) -> recipes.Protocol | None:
        """The recipe for a request type, however it is spelled (`ocr -> sis`, `OCR→SIS`, `OCR_SIS`)."""
        return self.by_name.get(request_type_key(request_type))

    def protocols(self) -> tuple[recipes.Protocol, ...]:
        """Every recipe once, by request type."""
        return tuple(recipe for name, recipe in sorted(self.by_name.items()) if name == recipe.request_type)

    def tenant(self, tenant_id: str) -> TenantSettings:
        """The settings of a tenant, listed or not."""
        listed = self.tenants.get(tenant_id)
        return listed or msgspec.structs.replace(self.defaults, tenant_id=tenant_id)

    def limits(self, tenant_id: str) -> Limits:
        """The limits that count when this tenant submits."""
        return self.tenants.get(tenant_id, self.defaults).limits


class Outcome(StrEnum):
    """What a reload did."""

    UNCHANGED = "unchanged"
    RELOADED = "reloaded"
    KEPT = "kept"
    """The new version is bad or out of reach; the last good one stays."""


class ReloadReport(msgspec.Struct, frozen=True, kw_only=True):
    """What one look at the source found. `problems` stay until the source is good again."""

    outcome: Outcome
    version: str
    checked_at: int
    problems: tuple[ConfigProblem, ...] = ()


class Schematics(Protocol):
    """The source of protocols, tenants, limits, modes and the reference policy."""

    def current(self) -> Catalogue:
        """The last good catalogue. Costs nothing; never fails; never half of one version."""
        ...

    async def refresh(self) -> ReloadReport:
        """Look at the source now and take its version if it is good. Never raises for a bad source."""
        ...


def request_type_key(text: str) -> str:
    """The one spelling of a request type: arrows and blanks are underscores, letters are capitals."""
    parts = text.replace("→", " ").replace("->", " ").split()
    joined = "_".join(parts)
    # Beyond ASCII, capitals can change length and meaning; such a name matches nothing as it is.
    return joined.upper() if joined.isascii() else joined
