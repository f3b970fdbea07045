"""`tenants.yaml`: what is different for a tenant."""

from __future__ import annotations

import re

from lucius.adapters.schematics.limits import TENANT_LIMITS, build_limits
from lucius.adapters.schematics.reading import Document
from lucius.adapters.schematics.references import build_ref_rules
from lucius.adapters.schematics.scalars import shown
from lucius.adapters.schematics.section import Section
from lucius.core.routing import BURST, DEFAULT
from lucius.ports.schematics import ConfigProblem, TenantSettings

MODES = {"DEFAULT": DEFAULT, "SAFE": DEFAULT, "BURST": BURST}
_TENANT_ID = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_KEYS = ("enabled", "mode", "burst_allowed", "limits", "refs")


def build_tenants(
    document: Document, defaults: TenantSettings, problems: list[ConfigProblem]
) -> dict[str, TenantSettings]:
    """The listed tenants by id."""
    top = Section(document, problems)
    top.only("tenants")
    held = top.values.get("tenants", {})
    if not isinstance(held, dict):
        top.wrong("tenants", f"is {shown(held)}", "write a mapping of tenant ids to their settings")
    return {name: _tenant(name, section, defaults) for name, section in top.sections("tenants")}


def _tenant(name: str, section: Section, defaults: TenantSettings) -> TenantSettings:
    if not _TENANT_ID.fullmatch(name):
        remedy = "write 1 to 63 of a-z 0-9 _ - starting with a letter or digit"
        section.wrong(None, f"{shown(name)} is not a tenant id", remedy, at_key=True)
    section.only(*_KEYS)
    burst_allowed = section.flag("burst_allowed", default=defaults.burst_allowed)
    mode = section.choice("mode", DEFAULT, MODES) if "mode" in section else None
    if mode == BURST and not burst_allowed:
        section.wrong(
            "mode", "is BURST, which this tenant is not allowed", "set burst_allowed: true, or DEFAULT"
        )
    return TenantSettings(
        tenant_id=name,
        enabled=section.flag("enabled", default=defaults.enabled),
        mode=mode,
        burst_allowed=burst_allowed,
        limits=build_limits(section, defaults.limits, TENANT_LIMITS),
        refs=build_ref_rules(section),
    )
