"""The table for people."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bench.figures import Figure, Outcome


def show(outcome: Outcome, console: Console) -> None:
    """Print everything."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("", "measured", "against", "ratio", "aim", ""):
        table.add_column(column, justify="right" if column in {"measured", "against", "ratio"} else "left")
    part = ""
    for figure in outcome.figures:
        if figure.part != part:
            part = figure.part
            table.add_row(Text(part, style="bold"))
        table.add_row(*_cells(figure))
    console.print(table)
    loads = " → ".join(f"{load[0]:.2f}" for load in (outcome.load_before, outcome.load_after))
    console.print(
        f"\n{outcome.machine}; load average {loads}; {outcome.seconds:.0f} s. Server and load "
        "generator share the cores. Medians of three.",
        style="dim",
    )


def _cells(figure: Figure) -> tuple[str | Text, ...]:
    against = "" if figure.baseline_value is None else f"{number(figure.baseline_value)}  {figure.baseline}"
    mark = {None: Text(""), True: Text("reached", style="green"), False: Text("missed", style="red")}[
        figure.met
    ]
    return (
        f"  {figure.name}",
        f"{number(figure.value)} {figure.unit}",
        against,
        "" if figure.ratio is None else f"{figure.ratio:.2f}",
        "" if figure.aim is None else str(figure.aim),
        mark,
    )


def number(value: float) -> str:
    """Three digits that mean something."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}" if abs(value) < 1 else f"{value:.2f}"
