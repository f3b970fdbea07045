"""What `/readyz` answers: ready as long as work is taken, even if a part is missed."""

from __future__ import annotations

from collections.abc import Mapping

MISSED = "missed: "
"""Begins what is said of a part that is away while work is still taken."""


def takes_work(components: Mapping[str, str]) -> bool:
    """Whether requests may come here."""
    return all(said == "ok" or said.startswith(MISSED) for said in components.values())
