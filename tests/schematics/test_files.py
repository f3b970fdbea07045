import asyncio
import os
import shutil

import pytest

from lucius.adapters.schematics.files import FileSchematics, check
from lucius.errors import Invalid
from lucius.ports.schematics import Outcome, Schematics
from lucius.testing.schematics import INVOICE, SchematicsSuite


class DirectoryBench:
    """A directory as a source."""

    def __init__(self, root):
        self.root = root / "config"
        self.away = root / "away"
        self.root.mkdir()

    def put(self, name, text):
        """Write one file."""
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def remove(self, name):
        """Delete one file."""
        (self.root / name).unlink()

    def cut_off(self):
        """Move the directory away."""
        self.root.rename(self.away)

    def restore(self):
        """Bring it back."""
        self.away.rename(self.root)

    def open(self) -> Schematics:
        """Read it."""
        return FileSchematics(self.root, clock=lambda: 1_000)


@pytest.fixture
def bench(tmp_path):
    """An empty configuration directory."""
    return DirectoryBench(tmp_path)


class TestFiles(SchematicsSuite):
    """Files keep every promise of the port."""


def test_a_bad_configuration_refuses_to_start_with_the_whole_list(bench):
    """The error names every problem of every file, one a line, with its place."""
    bench.put("lucius.yaml", "default_mode: FAST\nlimits: {tenant_jobs: -1}\n")
    bench.put("protocols/invoice.yaml", INVOICE.format(version=1).replace("5m", "5 minutes"))
    with pytest.raises(Invalid) as caught:
        bench.open()
    assert caught.value.code == "CONFIG_INVALID"
    assert caught.value.message.splitlines() == [
        "The configuration has 3 problems; nothing was started:",
        '  lucius.yaml:1:15 /default_mode: is "FAST"; write one of DEFAULT, SAFE, BURST',
        "  lucius.yaml:2:23 /limits/tenant_jobs: is -1; write a whole number from 0 to 10000000",
        (
            '  protocols/invoice.yaml:6:65 /steps/0/lease: "5 minutes" is not a duration; '
            'write a number of seconds or a string such as "30s", "15m" or "2h"'
        ),
    ]
    assert [problem.pointer for problem in caught.value.problems] == [
        "/default_mode",
        "/limits/tenant_jobs",
        "/steps/0/lease",
    ]


def test_a_missing_directory_refuses_to_start(tmp_path):
    """A mistyped path is told, not taken for an empty configuration."""
    with pytest.raises(Invalid, match="cannot be read: No such file or directory"):
        FileSchematics(tmp_path / "nowhere", clock=lambda: 0)


def test_check_finds_what_a_start_would(bench):
    """`check` says nothing about a good directory and everything about a bad one."""
    bench.put("protocols/invoice.yaml", INVOICE.format(version=1))
    assert check(bench.root) == []
    bench.put("tenant.yaml", "tenants: {}\n")
    [problem] = check(bench.root)
    assert str(problem) == 'tenant.yaml:1:1: nobody reads a file of this name; did you mean "tenants.yaml"?'


async def test_polling_reads_only_what_looks_different(bench):
    """An unchanged directory costs its signature; an edit of the same size is still seen."""
    bench.put("protocols/invoice.yaml", INVOICE.format(version=1))
    schematics = FileSchematics(bench.root, clock=lambda: 7)
    path = bench.root / "protocols/invoice.yaml"
    before = path.stat()
    assert (await schematics.poll()).outcome is Outcome.UNCHANGED
    bench.put("protocols/invoice.yaml", INVOICE.format(version=2))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (await schematics.poll()).outcome is Outcome.UNCHANGED
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    report = await schematics.poll()
    assert (report.outcome, report.checked_at) == (Outcome.RELOADED, 7)


async def test_polling_survives_the_loss_of_the_directory(bench):
    """While the directory is away polling goes on reporting it, once as news."""
    schematics = FileSchematics(bench.root, clock=lambda: 7)
    before = schematics.current()
    shutil.rmtree(bench.root)
    first, second = await schematics.poll(), await schematics.poll()
    assert (first.outcome, second.outcome) == (Outcome.KEPT, Outcome.UNCHANGED)
    assert first.problems == second.problems != ()
    assert schematics.current() is before


async def test_a_link_that_leads_nowhere_is_an_outage(bench):
    """A mounted file that vanished behind its link does not silently drop its protocol."""
    bench.put("protocols/invoice.yaml", INVOICE.format(version=1))
    schematics = FileSchematics(bench.root, clock=lambda: 7)
    path = bench.root / "protocols/invoice.yaml"
    path.unlink()
    path.symlink_to(bench.root / "gone.txt")
    report = await schematics.poll()
    assert report.outcome is Outcome.KEPT
    assert schematics.current().protocol("INVOICE") is not None


async def test_refreshes_at_the_same_moment_agree(bench):
    """Many refreshes at once load a new version once, and all name it."""
    schematics = FileSchematics(bench.root, clock=lambda: 7)
    bench.put("protocols/invoice.yaml", INVOICE.format(version=1))
    reports = await asyncio.gather(*(schematics.refresh() for _ in range(8)))
    assert [report.outcome for report in reports].count(Outcome.RELOADED) == 1
    assert {report.version for report in reports} == {schematics.current().version}


async def test_without_a_directory_the_shipped_protocols_stand(bench):
    """`None` means: what comes with Lucius, for good."""
    schematics = FileSchematics(None, clock=lambda: 7)
    assert (await schematics.poll()).outcome is Outcome.UNCHANGED
    assert (await schematics.refresh()).outcome is Outcome.UNCHANGED
    assert len(schematics.current().protocols()) == 6


def test_json_and_yaml_files_stand_side_by_side(bench):
    """A protocol may be written in JSON; two files for one thing are refused."""
    bench.put(
        "protocols/a.json",
        '{"request_type": "A", "version": "1.0", "steps":'
        ' [{"step_id": "a", "step_type": "A", "service": "a"}]}',
    )
    assert check(bench.root) == []
    bench.put("protocols/b.yml", INVOICE.format(version=1).replace("INVOICE", "a"))
    bench.put("tenants.yaml", "{}")
    bench.put("tenants.json", "{}")
    assert [(one.file, one.message) for one in check(bench.root)] == [
        ("tenants.yaml", "says the same as tenants.json"),
        ("protocols/b.yml", "A is already described by protocols/a.json"),
    ]
