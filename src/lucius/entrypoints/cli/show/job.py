"""Jobs for people: one in full, many in a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lucius.entrypoints.cli.show.progress import heading, steps
from lucius.entrypoints.cli.show.states import badge
from lucius.entrypoints.cli.show.words import ago, between, clock, duration
from lucius.sdk.answers import Job


def sheet(job: Job, now: int) -> RenderableType:
    """One job in full."""
    parts: list[RenderableType] = [
        heading(job, now),
        steps(job, now, 0.0),
        Text(),
        indented(_facts(job, now)),
    ]
    return Group(*parts)


def listing(jobs: Iterable[Job], now: int) -> Table:
    """Many jobs, one a line."""
    table = plain_table("id", "state", "type", "tenant", "age", "took")
    table.columns[0].no_wrap = table.columns[1].no_wrap = True
    table.columns[4].justify = table.columns[5].justify = "right"
    for job in jobs:
        table.add_row(
            job.job_id,
            badge(job.state),
            job.request_type,
            job.tenant_id,
            ago(job.created_at, now).removesuffix(" ago"),
            duration(between(job.created_at, job.completed_at)),
        )
    return table


def plain_table(*columns: str) -> Table:
    """A table without boxes."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="dim", show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def indented(renderable: RenderableType) -> Padding:
    """A little to the right, and no wider than it must be."""
    return Padding(renderable, (0, 0, 0, 2), expand=False)


def facts(rows: Sequence[tuple[str, RenderableType | None]]) -> Table:
    """Names and values under each other; those without a value are left out."""
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        if value is not None and value != "":
            table.add_row(name, value)
    return table


def _facts(job: Job, now: int) -> Table:
    lane = f"{job.lane} · {job.mode} ({job.decision_reason})" if job.lane is not None else job.mode
    error = Text(f"{job.error_code}: {job.error_message or ''}".rstrip(": "), style="red")
    return facts(
        [
            ("tenant", job.tenant_id),
            ("document", job.doc_id),
            ("lane", lane),
            ("accepted", f"{clock(job.created_at)} ({ago(job.created_at, now)})"),
            ("not before", clock(job.not_before) if job.not_before else None),
            ("retry of", job.ancestor_id),
            ("input", _uri(job.input_ref)),
            ("output", _uri(job.final_output) or _uri(job.output_ref)),
            ("error", error if job.error_code else None),
        ]
    )


def _uri(ref: dict[str, Any] | None) -> str | None:
    return str(ref.get("uri", "")) if ref else None
