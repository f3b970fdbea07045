from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from lucius.adapters.ledgers.sqlite import SqliteLedger
from lucius.core import commands as cmd
from lucius.core.decide import Chance, decide, open_job
from lucius.engines.temporal.ownership import CreateOnly
from lucius.errors import Broken
from lucius.ports.ledger import Ledger
from lucius.testing.jobs import START, Hand, change, claim, order
from tests.architecture.tree import PACKAGE, imports

ROOM = PACKAGE / "engines" / "temporal"
ORCHESTRATOR = ("engine", "starting", "lost_starts", "ownership")
INVOKER = (
    "desk", "telling", "closing", "drift", "left_open", "signalling", "publishing", "recording", "lateness",
)  # fmt: skip
WORKER = ("workflow", "pilot", "activities", "worker")
ALLOWED = frozenset(
    {"capabilities", "create", "on_commit", "job", "jobs", "events", "outbox", "open_attempts", "due"}
    | {"dead_letters", "census"}
)
REFUSED = frozenset({"change", "purge"})


def _told(module: str) -> set[str]:
    """What a module of the engine imports from the engine's own room, by name."""
    prefix = "lucius.engines.temporal."
    return {name.removeprefix(prefix) for name in imports(ROOM / f"{module}.py") if name.startswith(prefix)}


@pytest.mark.parametrize("module", ORCHESTRATOR)
def test_the_orchestrator_signals_nobody(module: str) -> None:
    """000 §13: it creates rows and starts workflows; the parts that signal are not in its reach."""
    assert _told(module) & {*INVOKER} == set()


@pytest.mark.parametrize("module", INVOKER)
def test_the_invoker_starts_nobody(module: str) -> None:
    """000 §14: it writes and signals; the parts that start workflows are not in its reach."""
    assert _told(module) & {*ORCHESTRATOR} == set()


@pytest.mark.parametrize("module", WORKER)
def test_the_worker_has_neither_ledger_nor_client(module: str) -> None:
    """A workflow asks the invoker and nothing else: no part of either side, no ledger, no bus."""
    assert _told(module) & {*ORCHESTRATOR, *INVOKER} == set()
    reached = set(imports(ROOM / f"{module}.py"))
    assert reached & {"lucius.ports.ledger", "lucius.ports.bus"} == set()
    assert not any(name.startswith(("lucius.adapters", "lucius.dispatch")) for name in reached)


def test_only_starting_starts_and_only_signalling_signals() -> None:
    """Temporal's verbs are each said in one file, so that who holds which is plain."""
    said = {path.stem: path.read_text(encoding="utf-8") for path in ROOM.glob("*.py")}
    assert [name for name, text in said.items() if "_client.start_workflow(" in text] == ["starting"]
    assert [name for name, text in said.items() if "_client.get_workflow_handle(" in text] == ["signalling"]


def test_create_only_knows_the_whole_ledger() -> None:
    """A verb that the ledger learns is allowed or refused here on purpose, never by accident."""
    members = {
        name
        for name, value in vars(Ledger).items()
        if not name.startswith("_") and (inspect.isfunction(value) or isinstance(value, property))
    }
    assert members == ALLOWED | REFUSED
    assert {name for name in vars(CreateOnly) if not name.startswith("_")} == members


@pytest.fixture
async def ledgers(tmp_path: Path) -> tuple[SqliteLedger, CreateOnly]:
    """A ledger, and the same in the orchestrator's hands."""
    ledger = SqliteLedger(str(tmp_path / "ledger.db"), clock=Hand())
    return ledger, CreateOnly(ledger)


async def test_the_orchestrator_changes_nothing(ledgers: tuple[SqliteLedger, CreateOnly]) -> None:
    """It may create; to change or to forget is refused before the ledger hears of it."""
    ledger, owned = ledgers
    of = order()
    opened = await owned.create(claim(of), lambda _: change(open_job(of, Chance(lease_id=""))))
    with pytest.raises(Broken) as refused:
        await owned.change(
            of.job_id, lambda job, _: change(decide(job, cmd.Pause(), START, Chance(lease_id="")))
        )
    assert refused.value.code == "NOT_THE_OWNER"
    with pytest.raises(Broken) as refused:
        await owned.purge(START, 1)
    assert refused.value.code == "NOT_THE_OWNER"
    assert await ledger.job(of.job_id) == opened.job
    await ledger.close()


async def test_the_orchestrator_draws_no_attempt(ledgers: tuple[SqliteLedger, CreateOnly]) -> None:
    """A job that would begin with an attempt is not created: leases are the workflow's to draw."""
    ledger, owned = ledgers
    of = order()
    with pytest.raises(Broken):
        await owned.create(claim(of), lambda _: change(open_job(of, Chance(lease_id="drawn-here"))))
    assert await ledger.job(of.job_id) is None
    await ledger.close()
