"""What every process with the HTTP API stands on, whatever its engine, and how it is put on top."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from lucius.runtime import nature
from lucius.runtime.building.access import Access, open_access
from lucius.runtime.building.front import Recipes, build_api, open_recipes
from lucius.runtime.building.lifebook import Lifebook, open_lifebook
from lucius.runtime.building.local import echo
from lucius.runtime.building.storage import Storage
from lucius.runtime.building.watching import Watching, open_watching
from lucius.runtime.lifebook_pulse import PART, LifebookPulse
from lucius.runtime.process import Lucius
from lucius.runtime.reference_workers import workers
from lucius.runtime.secrets import Secrets
from lucius.runtime.settings import Settings
from lucius.runtime.state import State

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from lucius.ports.duties import Duty
    from lucius.ports.engine import Engine
    from lucius.ports.ledger import Ledger
    from lucius.runtime.building.driving import Driver
    from lucius.runtime.process import Beside, Work

    Keeping = Callable[[Watching, Sequence[str]], Storage]


class Ground(msgspec.Struct, frozen=True, kw_only=True):
    """Who may call, what watches, what jobs are made from, and where they are kept."""

    settings: Settings
    secrets: Secrets
    access: Access
    watching: Watching
    recipes: Recipes
    storage: Storage
    lifebook: Lifebook | None
    state: State

    def process(
        self,
        engine: Engine,
        ledger: Ledger,
        *,
        duties: tuple[Duty, ...],
        driver: Driver | None = None,
        beside: Beside | None = None,
        closing: tuple[Callable[[], Awaitable[None] | None], ...] = (),
    ) -> Lucius:
        """The process with this engine. `ledger`: as the API may use it."""
        settings, secrets, access, storage = self.settings, self.secrets, self.access, self.storage
        watching, recipes, state, lifebook = self.watching, self.recipes, self.state, self.lifebook
        app = build_api(
            settings, access, watching, storage, recipes,
            ledger=ledger, engine=engine, ready=lambda: state.readiness(storage.ledger),
            lifebook=None if lifebook is None else lifebook.desk,
        )  # fmt: skip
        return Lucius(
            settings=settings,
            secrets=secrets,
            state=state,
            metrics=watching.metrics,
            traces=watching.traces,
            app=app,
            ledger=storage.ledger,
            bus=storage.bus,
            background=(*_keys_of_issuers(access), *storage.watch, *_runs(lifebook)),
            duties=(*duties, recipes.watch, access.tokens, *_duties(lifebook, state)),
            driver=driver,
            closing=(
                *(() if lifebook is None else (lifebook.backend.close,)),
                *closing,
                access.keyring.close,
                secrets.close,
                watching.traces.close,
            ),
            engine=engine,
            schematics=recipes.schematics,
            keyring=access.keyring,
            authenticator=access.authenticator,
            hub=watching.hub,
            echo=echo(settings, storage, recipes.topics),
            workers=workers(settings, secrets.root, access.worker_keys),
            beside=beside,
            lifebook=lifebook,
        )


async def break_ground(settings: Settings, secrets: Secrets, keeping: Keeping, *parts: str) -> Ground:
    """Open all of it. `keeping` opens the storage; `parts` may be missed (see `State`)."""
    access, watching = open_access(settings, secrets), open_watching(settings)
    recipes = open_recipes(settings)
    storage = keeping(watching, recipes.topics)
    watching.watch(storage.ledger, storage.bus, limit=recipes.schematics.system_limit)
    lifebook = await open_lifebook(settings, watching.runs)
    if lifebook is not None:
        watching.watch_runs(lifebook.backend.store, lifebook.backend.queue, lifebook.backend.dead)
        parts = (*parts, PART)
    return Ground(
        settings=settings,
        secrets=secrets,
        access=access,
        watching=watching,
        recipes=recipes,
        storage=storage,
        lifebook=lifebook,
        state=State(*parts),
    )


def _runs(lifebook: Lifebook | None) -> tuple[Work, ...]:
    """The worker of lifebook runs, where this process is one."""
    poller = None if lifebook is None else lifebook.poller
    return () if poller is None else (poller.run,)


def _duties(lifebook: Lifebook | None, state: State) -> tuple[Duty, ...]:
    """Those of lifebook runs, and whether they can be served."""
    return () if lifebook is None else (*lifebook.duties, LifebookPulse(lifebook.backend, state))


def _keys_of_issuers(access: Access) -> tuple[Work, ...]:
    """Keep the keys of token issuers fresh, where there are any."""
    jwks = access.jwks
    return () if jwks is None else (lambda: jwks.run(nature.sleep),)
