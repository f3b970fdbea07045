"""Schematics with what the process settings add: the root of `file:` references, limits, step defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
from msgspec.structs import replace

from lucius.core.protocol import StepRecipe
from lucius.ports.schematics import Outcome

if TYPE_CHECKING:
    from lucius.ports.schematics import Catalogue, ReloadReport, Schematics
    from lucius.runtime.settings import Settings


class Configured:
    """The inner schematics, with gaps filled from the settings. What a file says counts more."""

    def __init__(self, inner: Schematics, settings: Settings) -> None:
        self._inner = inner
        self._settings = settings
        self._seen: Catalogue | None = None
        self._filled: Catalogue | None = None

    def current(self) -> Catalogue:
        """The last good catalogue, filled in once per version."""
        found = self._inner.current()
        if found is not self._seen or self._filled is None:
            self._seen, self._filled = found, self._fill(found)
        return self._filled

    async def refresh(self) -> ReloadReport:
        """As the inner one."""
        return await self._inner.refresh()

    def system_limit(self) -> int:
        """How many jobs may be open in all; 0: as many as come."""
        return self.current().defaults.limits.system_jobs or 0

    def _fill(self, found: Catalogue) -> Catalogue:
        policy, limits = found.ref_policy, found.defaults.limits
        root = self._settings.files_root
        if root is not None and policy.file_root is None:
            policy = replace(policy, file_root=str(root.resolve()))
        if limits.tenant_jobs is None and self._settings.max_inflight_per_tenant is not None:
            limits = replace(limits, tenant_jobs=self._settings.max_inflight_per_tenant)
        return replace(found, ref_policy=policy, defaults=replace(found.defaults, limits=limits))


def step_defaults(settings: Settings) -> StepRecipe:
    """What a step is like whose recipe says nothing. A job takes it along when it is submitted."""
    recipe = StepRecipe(step_id="", step_type="", service="")
    if settings.max_attempts is not None:
        recipe = replace(recipe, max_execution_attempts=settings.max_attempts)
    if settings.step_result_timeout_seconds is not None:
        recipe = replace(recipe, lease=round(settings.step_result_timeout_seconds * 1_000))
    return recipe


def tell_reload(report: ReloadReport) -> None:
    """Say once what a look at the configuration brought."""
    log = structlog.get_logger("lucius.schematics")
    if report.outcome is Outcome.RELOADED:
        log.info("configuration taken", version=report.version)
        return
    for problem in report.problems:
        log.error("configuration not taken; the last good one stays", problem=str(problem))
