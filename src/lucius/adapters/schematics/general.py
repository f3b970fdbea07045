"""`lucius.yaml`: what counts for everybody."""

from __future__ import annotations

import msgspec

from lucius.adapters.schematics.limits import GENERAL_LIMITS, build_limits
from lucius.adapters.schematics.reading import Document
from lucius.adapters.schematics.references import build_ref_policy
from lucius.adapters.schematics.section import Section
from lucius.adapters.schematics.tenants import MODES
from lucius.core.admission import Limits
from lucius.core.refs import RefPolicy
from lucius.core.routing import DEFAULT
from lucius.ports.schematics import ConfigProblem, TenantSettings

_KEYS = ("default_mode", "burst_allowed", "two_grids", "limits", "refs")


class General(msgspec.Struct, frozen=True, kw_only=True):
    """The general settings."""

    default_mode: str
    two_grids: bool
    ref_policy: RefPolicy
    defaults: TenantSettings


def build_general(document: Document, problems: list[ConfigProblem]) -> General:
    """The general settings of a document, with the built-in ones where it is silent."""
    top = Section(document, problems)
    top.only(*_KEYS)
    return General(
        default_mode=top.choice("default_mode", DEFAULT, MODES),
        two_grids=top.flag("two_grids", default=False),
        defaults=TenantSettings(
            tenant_id="",
            burst_allowed=top.flag("burst_allowed", default=True),
            limits=build_limits(top, Limits(), GENERAL_LIMITS),
        ),
        ref_policy=build_ref_policy(top),
    )
