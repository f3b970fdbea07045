"""Brings docs/performance.md up to date: `python -m bench.page`.

Reads docs/performance.json (`python -m bench --full --save …`) and docs/profile.json
(`python -m bench.where --save …`), draws both pictures, and writes the tables between their markers.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from bench.figures import Figure, Outcome
from bench.picture import aims, spent
from bench.show import number
from bench.where import Where

DOCS = Path(__file__).resolve().parent.parent / "docs"


def table(outcome: Outcome) -> str:
    """The figures, as Markdown."""
    lines = ["| | measured | beside it | ratio | aim | |", "|---|---:|---:|---:|---|---|"]
    part = ""
    for figure in outcome.figures:
        if figure.part != part:
            part = figure.part
            lines.append(f"| **{part}** | | | | | |")
        lines.append(_line(figure))
    loads = f"{outcome.load_before[0]:.1f} to {outcome.load_after[0]:.1f}"
    lines += [
        "",
        f"{outcome.machine}, load average {loads}, {outcome.taken_at[:10]}, Lucius {outcome.version}.",
    ]
    return "\n".join(lines)


def _line(figure: Figure) -> str:
    beside = "" if figure.baseline_value is None else f"{number(figure.baseline_value)} {figure.baseline}"
    ratio = "" if figure.ratio is None else f"{figure.ratio:.2f}"
    verdict = {None: "", True: "reached", False: "missed"}[figure.met]
    cells = (
        figure.name,
        f"{number(figure.value)} {figure.unit}",
        beside,
        ratio,
        str(figure.aim or ""),
        verdict,
    )
    return f"| {' | '.join(cells)} |"


def profile(found: dict[str, Where]) -> str:
    """CPU time by area, as Markdown."""
    lines = [f"| µs of CPU | {' | '.join(f'a {name}' for name in found)} |", "|---|---:|---:|"]
    for area in dict.fromkeys(area for where in found.values() for area in where.areas):
        cells = " | ".join(f"{where.areas.get(area, 0):.0f}" for where in found.values())
        lines.append(f"| {area} | {cells} |")
    lines.append(f"| **together** | {' | '.join(f'**{where.total:.0f}**' for where in found.values())} |")
    return "\n".join(lines)


def between(text: str, name: str, new: str) -> str:
    """The page with what stands between two markers replaced."""
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if text.count(start) != 1 or text.count(end) != 1:
        message = f"docs/performance.md must have {start} and {end} once each"
        raise SystemExit(message)
    head, _, rest = text.partition(start)
    return f"{head}{start}\n{new}\n{end}{rest.partition(end)[2]}"


def main() -> None:
    """Write page and pictures."""
    outcome = msgspec.json.decode((DOCS / "performance.json").read_bytes(), type=Outcome)
    found = msgspec.json.decode((DOCS / "profile.json").read_bytes(), type=dict[str, Where])
    pictures = DOCS / "pictures"
    pictures.mkdir(exist_ok=True)
    (pictures / "performance.svg").write_text(aims(outcome), encoding="utf-8")
    (pictures / "profile.svg").write_text(spent(found), encoding="utf-8")
    page = DOCS / "performance.md"
    text = between(page.read_text(encoding="utf-8"), "figures", table(outcome))
    page.write_text(between(text, "profile", profile(found)), encoding="utf-8")


if __name__ == "__main__":
    main()
