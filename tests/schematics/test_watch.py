from lucius.adapters.schematics.files import FileSchematics
from lucius.adapters.schematics.watch import WatchFiles
from lucius.ports.duties import Duty
from lucius.ports.schematics import Outcome, ReloadReport


async def test_news_is_told_once_and_problems_are_counted_on(tmp_path):
    """A bad edit is told once and counted until repaired; the repair is told too."""
    told: list[ReloadReport] = []
    schematics = FileSchematics(tmp_path, clock=lambda: 0)
    duty: Duty = WatchFiles(schematics, tell=told.append)
    rounds = [await duty.run_once()]
    (tmp_path / "lucius.yaml").write_text("default_mode: FAST\ntwo_grids: 1\n", encoding="utf-8")
    rounds += [await duty.run_once(), await duty.run_once()]
    (tmp_path / "lucius.yaml").write_text("default_mode: BURST\n", encoding="utf-8")
    rounds += [await duty.run_once(), await duty.run_once()]
    assert [one.details["problems"] for one in rounds] == [0, 2, 2, 0, 0]
    assert [one.acted for one in rounds] == [0, 0, 0, 1, 0]
    assert [one.outcome for one in told] == [Outcome.KEPT, Outcome.RELOADED]
    assert schematics.current().default_mode == "BURST"
