from __future__ import annotations

import re
from pathlib import Path

from docs.make_metrics_table import service_metrics, service_table
from lucius.telemetry.catalogue import METRICS, table
from lucius.telemetry.logs import IDS

PAGE = (Path(__file__).parents[2] / "docs" / "observability.md").read_text()


def test_the_page_carries_the_catalogue() -> None:
    """The tables in the docs are the generated ones; `python docs/make_metrics_table.py` renews them."""
    assert table() in PAGE
    assert service_table() in PAGE


def test_queries_name_only_metrics_there_are() -> None:
    """Every metric an example names exists, in Lucius or in a service process."""
    known = {metric.name for metric in METRICS} | service_metrics()
    for name in set(re.findall(r"\b(?:lucius|process)_[a-z_]+\b", PAGE)):
        assert re.sub(r"_(total|bucket|sum|count)$", "", name) in known, name


def test_log_ids_are_described() -> None:
    """Each id a line may carry is on the page."""
    assert all(f"`{name}`" in PAGE for name in IDS)
