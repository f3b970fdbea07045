"""The outbox engine at work on a SQLite ledger and an embedded bus, with time moved by hand."""

from __future__ import annotations

import asyncio
from itertools import count
from pathlib import Path

from lucius.adapters.buses.embedded import EmbeddedBus
from lucius.adapters.ledgers.sqlite import SqliteLedger
from lucius.core.decide import Chance
from lucius.core.routing import reply_topics, topics
from lucius.dispatch.intake import Intake
from lucius.dispatch.recovery import recover
from lucius.dispatch.relay import Relay
from lucius.engines.outbox.due import DueJobs
from lucius.engines.outbox.engine import OutboxEngine
from lucius.testing.engines import EngineHarness, FaultyBus
from lucius.testing.jobs import Hand, render


class OutboxWorld(EngineHarness):
    """One embedded Lucius without its doors."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.clock = Hand()
        self.leases = count(1)
        self.tasks: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """From what the file holds."""
        self.bus = FaultyBus(EmbeddedBus(topics=(*topics(), *reply_topics()), clock=self.clock))
        self.sqlite = SqliteLedger(self.path, clock=self.clock)
        self.ledger = self.sqlite
        self.relay = Relay(self.ledger, self.bus, probe=0.005)
        engine = OutboxEngine(
            self.ledger,
            self.relay,
            render=render,
            tell=lambda *_: (),
            clock=self.clock,
            chance=lambda: Chance(lease_id=f"lease-{next(self.leases)}"),
        )
        self.engine = engine
        self.due = DueJobs(self.ledger, self.bus, engine, clock=self.clock)
        self.tasks = [
            asyncio.create_task(self.relay.run(engine.note)),
            asyncio.create_task(Intake(self.bus, engine.report, sleep=asyncio.sleep).run()),
        ]
        await recover(self.ledger, self.relay)

    async def stop(self) -> None:
        """Let go of everything."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.sqlite.close()
        await self.bus.close()

    async def restart(self) -> None:
        """The bus forgets everything."""
        await self.stop()
        await self.start()

    async def sweep(self) -> None:
        """Rounds of the reconciler until nothing is due."""
        while (await self.due.run_once()).acted:
            await self.rest()
        await self.rest()

    async def rest(self) -> None:
        """Nothing decided is unwritten, nothing written is unpublished, unless the bus is away."""
        for _ in range(4):
            for _ in range(20):
                await asyncio.sleep(0)
            await self.sqlite._idle.wait()
            if not self.bus.away:
                await self.relay.drained()

    async def bus_back(self) -> None:
        """The relay finds out by its own probe."""
        self.bus.away = False
        await self.relay.drained()
        await self.rest()
