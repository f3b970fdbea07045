"""Write the metrics table into observability.md from the catalogue: `python docs/make_metrics_table.py`."""

from __future__ import annotations

import re
from pathlib import Path

from lucius.telemetry.catalogue import table

PAGE = Path(__file__).with_name("observability.md")
START, END = "<!-- metrics: start -->", "<!-- metrics: end -->"


def main() -> None:
    """Replace what stands between the two markers."""
    old = PAGE.read_text()
    new = re.sub(f"{START}.*{END}", lambda _: f"{START}\n{table()}\n{END}", old, flags=re.DOTALL)
    PAGE.write_text(new)
    print("unchanged" if new == old else "rewritten", PAGE.name)


if __name__ == "__main__":
    main()
