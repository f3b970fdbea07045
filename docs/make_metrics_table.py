"""Write the metrics tables into observability.md: `python docs/make_metrics_table.py`.

What Lucius serves comes from its catalogue. What a service process serves is asked of a meter that has
counted one of everything, so the table shows what a scraper would see.
"""

from __future__ import annotations

import re
from pathlib import Path

from lucius.sdk.serving.meter import Meter
from lucius.telemetry.catalogue import table

PAGE = Path(__file__).with_name("observability.md")
START, END = "<!-- metrics: start -->", "<!-- metrics: end -->"
SERVICE_START, SERVICE_END = "<!-- service metrics: start -->", "<!-- service metrics: end -->"
_OF_THE_FORMAT = {"le"}


def service_table() -> str:
    """The metrics of a service process as a Markdown table."""
    meter = Meter("OCR")
    meter.directive("new")
    meter.result("SUCCEEDED")
    meter.worked(1.0)
    meter.beat("accepted", late=True)
    meter.load(1, 1)
    rows = ["| metric | kind | labels | meaning |", "|---|---|---|---|"]
    for family in meter.registry.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        held = dict.fromkeys(label for sample in family.samples for label in sample.labels)
        labels = ", ".join(f"`{label}`" for label in held if label not in _OF_THE_FORMAT)
        rows.append(f"| `{name}` | {family.type} | {labels} | {family.documentation} |")
    return "\n".join(rows)


def service_metrics() -> set[str]:
    """The families of a service process, by name, counters without `_total`."""
    return {family.name for family in Meter("OCR").registry.collect()}


def _put(page: str, start: str, end: str, text: str) -> str:
    return re.sub(f"{start}.*{end}", lambda _: f"{start}\n{text}\n{end}", page, flags=re.DOTALL)


def main() -> None:
    """Replace what stands between the markers."""
    old = PAGE.read_text(encoding="utf-8")
    new = _put(old, START, END, table())
    new = _put(new, SERVICE_START, SERVICE_END, service_table())
    PAGE.write_text(new, encoding="utf-8")
    print("unchanged" if new == old else "rewritten", PAGE.name)


if __name__ == "__main__":
    main()
