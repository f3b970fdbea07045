"""What every source of schematics must do.

Bind it with a `bench` fixture:

    class TestMine(SchematicsSuite):
        @pytest.fixture
        def bench(self): return MyBench()

A bench offers `put(name, text)` (a file of the layout in docs/protocols.md), `remove(name)`,
`cut_off()` and `restore()` (the source goes away and comes back), and `open()` (a new `Schematics`).
"""

from __future__ import annotations

from typing import Protocol

from lucius.ports.schematics import Outcome, Schematics

SHIPPED = ("EMBEDDING", "EMBEDDING_SIS", "OCR", "OCR_EMBEDDING", "OCR_EMBEDDING_SIS", "SIS")
INVOICE = """
request_type: INVOICE
version: {version}
aliases: [BILL]
steps:
  - {{step_id: ocr, step_type: OCR, service: ocr-service, lease: 5m}}
"""


class SchematicsBench(Protocol):
    """A source that a test can write to and take away."""

    def put(self, name: str, text: str) -> None:
        """Write one file of the source."""

    def remove(self, name: str) -> None:
        """Take one file away."""

    def cut_off(self) -> None:
        """Make the whole source unreachable."""

    def restore(self) -> None:
        """Make it reachable again."""

    def open(self) -> Schematics:
        """A new adapter on this source."""


class SchematicsSuite:
    """The promises of the port."""

    def test_shipped_protocols_are_there_without_configuration(self, bench: SchematicsBench) -> None:
        """An empty source gives the shipped protocols, in any spelling of their names."""
        catalogue = bench.open().current()
        assert tuple(one.request_type for one in catalogue.protocols()) == SHIPPED
        for name in ("OCR_EMBEDDING", "ocr→embedding", "OCR -> Embedding", " ocr->embedding "):
            found = catalogue.protocol(name)
            assert found is not None
            assert found.request_type == "OCR_EMBEDDING"
        assert catalogue.protocol("EMBEDDING_OCR") is None

    async def test_a_new_protocol_arrives_with_a_refresh(self, bench: SchematicsBench) -> None:
        """Adding a protocol needs a file and a refresh; before the refresh nothing changes."""
        schematics = bench.open()
        before = schematics.current()
        bench.put("protocols/invoice.yaml", INVOICE.format(version=1))
        assert schematics.current() is before
        report = await schematics.refresh()
        assert report.outcome is Outcome.RELOADED
        assert report.version == schematics.current().version != before.version
        assert schematics.current().protocol("bill") == schematics.current().protocol("INVOICE") is not None

    async def test_an_unchanged_source_keeps_its_catalogue(self, bench: SchematicsBench) -> None:
        """A refresh that finds nothing new gives readers the same object."""
        bench.put("protocols/invoice.yaml", INVOICE.format(version=1))
        schematics = bench.open()
        before = schematics.current()
        assert (await schematics.refresh()).outcome is Outcome.UNCHANGED
        assert schematics.current() is before

    async def test_what_a_reader_took_never_changes(self, bench: SchematicsBench) -> None:
        """A holder of a protocol keeps it, byte for byte, while the catalogue moves on."""
        bench.put("protocols/invoice.yaml", INVOICE.format(version=1))
        schematics = bench.open()
        catalogue = schematics.current()
        held = catalogue.protocol("INVOICE")
        assert held is not None
        bench.put("protocols/invoice.yaml", INVOICE.format(version=2))
        await schematics.refresh()
        assert held.version == "1"
        assert catalogue.protocol("INVOICE") is held
        moved = schematics.current().protocol("INVOICE")
        assert moved is not None
        assert moved.version == "2"

    async def test_a_bad_version_changes_nothing_and_is_told(self, bench: SchematicsBench) -> None:
        """One bad file keeps the whole last good version, good files beside it included."""
        bench.put("protocols/invoice.yaml", INVOICE.format(version=1))
        schematics = bench.open()
        before = schematics.current()
        bench.put("protocols/invoice.yaml", INVOICE.format(version=2))
        bench.put("tenants.yaml", "tenants:\n  acme: {enabeld: false}\n")
        report = await schematics.refresh()
        assert report.outcome is Outcome.KEPT
        assert schematics.current() is before
        [problem] = report.problems
        assert (problem.file, problem.line, problem.column) == ("tenants.yaml", 2, 10)
        assert problem.pointer == "/tenants/acme/enabeld"
        again = await schematics.refresh()
        assert (again.outcome, again.problems) == (Outcome.UNCHANGED, report.problems)

    async def test_a_repaired_version_is_taken(self, bench: SchematicsBench) -> None:
        """Once the source is good again its version counts and no problem is left."""
        schematics = bench.open()
        bench.put("tenants.yaml", "tenants: 7\n")
        await schematics.refresh()
        bench.put("tenants.yaml", "tenants:\n  acme: {enabled: false}\n")
        report = await schematics.refresh()
        assert (report.outcome, report.problems) == (Outcome.RELOADED, ())
        assert not schematics.current().tenant("acme").enabled

    async def test_an_outage_keeps_the_last_good_values(self, bench: SchematicsBench) -> None:
        """A source that goes away is a problem to tell, not an empty configuration."""
        bench.put("protocols/invoice.yaml", INVOICE.format(version=1))
        schematics = bench.open()
        before = schematics.current()
        bench.cut_off()
        report = await schematics.refresh()
        assert report.outcome is Outcome.KEPT
        assert report.problems
        assert schematics.current() is before
        bench.restore()
        assert (await schematics.refresh()).problems == ()
        assert schematics.current() is before

    async def test_a_removed_protocol_is_gone(self, bench: SchematicsBench) -> None:
        """Taking a file away takes its protocol away, or brings the shipped one back."""
        bench.put("protocols/invoice.yaml", INVOICE.format(version=1))
        bench.put(
            "protocols/ocr.yaml", INVOICE.format(version=9).replace("INVOICE", "OCR").replace("BILL", "SCAN")
        )
        schematics = bench.open()
        bench.remove("protocols/invoice.yaml")
        bench.remove("protocols/ocr.yaml")
        await schematics.refresh()
        ocr = schematics.current().protocol("OCR")
        assert ocr is not None
        assert ocr.version != "9"
        assert schematics.current().protocol("INVOICE") is None
        assert schematics.current().protocol("BILL") is None
