"""What would become of a command."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from lucius.entrypoints.cli.show.job import facts, indented, plain_table
from lucius.entrypoints.cli.show.words import clock, duration

Document = dict[str, Any]


def sheet(plan: Document) -> RenderableType:
    """The plan: verdict, route, limits, steps."""
    refusal = plan.get("refusal")
    verdict = (
        Text.assemble(
            ("✗ ", "red"), f"would be refused now: {refusal.get('detail', '')} [{refusal.get('code', '')}]"
        )
        if refusal
        else Text.assemble(("✓ ", "green"), "would be accepted; nothing was created")
    )
    lane = f"{plan.get('lane')} · {plan.get('topic')}"
    mode = f"{plan.get('mode')} ({plan.get('decision_reason') or plan.get('decision_source')})"
    rows: list[tuple[str, RenderableType | None]] = [
        ("tenant", str(plan.get("tenant_id", ""))),
        ("protocol", f"{plan.get('protocol_id')} version {plan.get('protocol_version')}"),
        ("mode", mode),
        ("lane", lane),
        ("in flight", shares(plan.get("limits") or {})),
        ("not before", clock(plan.get("not_before")) if plan.get("not_before") else None),
    ]
    return Group(verdict, Text(), indented(facts(rows)), Text(), indented(_steps(plan)))


def shares(limits: Document) -> str:
    """How much of its limits a tenant uses: `3 of 100, burst 0`."""
    tenant, burst = limits.get("tenant") or {}, limits.get("tenant_burst") or {}
    return f"{_share(tenant)}, burst {_share(burst)}" if tenant else ""


def _share(share: Document) -> str:
    limit = share.get("limit")
    return f"{share.get('in_use', 0):,}" + (f" of {limit:,}" if limit is not None else " (no limit)")


def _steps(plan: Document) -> RenderableType:
    table = plain_table("step", "service", "acknowledge within", "lease", "attempts")
    for step in plan.get("steps", []):
        table.add_row(
            str(step.get("step_id", "")),
            str(step.get("service", "")),
            duration(step.get("ack_timeout_ms")),
            duration(step.get("lease_ms")),
            str(step.get("max_execution_attempts", "")),
        )
    return table
