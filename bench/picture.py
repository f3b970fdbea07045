"""The pictures of docs/performance.md, in plain SVG."""

from __future__ import annotations

from xml.sax.saxutils import escape

from bench.figures import Figure, Outcome
from bench.show import number
from bench.where import Where

WIDTH = 860
LEFT = 390
ROW = 24
STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#333}.dim{fill:#777}.good{fill:#2e7d5b}.bad{fill:#c0563f}"
    ".aim{stroke:#333;stroke-dasharray:3 3}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}.dim{fill:#999}.aim{stroke:#ddd}}"
)
COLOURS = (
    "#2e7d5b", "#3f6fb5", "#c98a3a", "#8a5bb0", "#b0485f", "#4a9aa5", "#8c9a3a", "#9a6b52",
    "#5c6f82", "#7cc09f", "#9db8e0", "#e6c48f", "#c7a8de", "#de9dab", "#a3d3da", "#c9d28f",
)  # fmt: skip


def aims(outcome: Outcome) -> str:
    """Every figure that has an aim, as a share of it: beyond the line is better."""
    judged = [figure for figure in outcome.figures if figure.aim is not None]
    body = []
    scale = (WIDTH - LEFT - 130) / 2
    for place, figure in enumerate(judged):
        top = 30 + place * ROW
        share = min(2.0, max(0.02, _share(figure)))
        kind = "good" if figure.met else "bad"
        body.append(f'<text x="{LEFT - 8}" y="{top + 13}" text-anchor="end">{escape(_label(figure))}</text>')
        body.append(
            f'<rect class="{kind}" x="{LEFT}" y="{top}" width="{share * scale:.0f}" height="16" rx="2"/>'
        )
        told = f"{_judged(figure)} ({figure.aim})"
        body.append(f'<text class="dim" x="{WIDTH - 4}" y="{top + 13}" text-anchor="end">{told}</text>')
    height = 40 + len(judged) * ROW
    line = LEFT + scale
    body.append(f'<line class="aim" x1="{line:.0f}" x2="{line:.0f}" y1="22" y2="{height - 12}"/>')
    body.append(f'<text class="dim" x="{line:.0f}" y="15" text-anchor="middle">aim</text>')
    return _svg(height, body)


def spent(found: dict[str, Where]) -> str:
    """CPU time by area, one bar each for a job and for a submit, on one scale."""
    longest = max(where.total for where in found.values())
    names = list(dict.fromkeys(area for where in found.values() for area in where.areas))
    colours = {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(names)}
    body = []
    for place, (name, where) in enumerate(found.items()):
        top, left = 10 + place * 44, 70.0
        body.append(f'<text x="62" y="{top + 20}" text-anchor="end">{name}</text>')
        for area, microseconds in where.areas.items():
            width = microseconds / longest * (WIDTH - 150)
            body.append(
                f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="30" fill="{colours[area]}">'
                f"<title>{escape(area)}: {microseconds:.0f} µs</title></rect>"
            )
            left += width
        body.append(f'<text class="dim" x="{left + 6:.0f}" y="{top + 20}">{where.total:.0f} µs</text>')
    for place, name in enumerate(names):
        left, top = 70 + (place % 2) * 390, 108 + (place // 2) * 20
        both = " / ".join(f"{where.areas.get(name, 0):.0f}" for where in found.values())
        body.append(f'<rect x="{left}" y="{top}" width="12" height="12" fill="{colours[name]}"/>')
        body.append(f'<text x="{left + 18}" y="{top + 11}">{escape(name)}</text>')
        body.append(f'<text class="dim" x="{left + 300}" y="{top + 11}" text-anchor="end">{both} µs</text>')
    return _svg(120 + (len(names) + 1) // 2 * 20, body)


def _share(figure: Figure) -> float:
    """1 when the aim is just reached, more when it is passed."""
    assert figure.aim is not None
    found = figure.ratio if figure.judged == "ratio" and figure.ratio is not None else figure.value
    if figure.aim.kind == "at least":
        return found / figure.aim.bound
    return figure.aim.bound / found if found > 0 else 2.0


def _judged(figure: Figure) -> str:
    if figure.judged == "ratio" and figure.ratio is not None:
        return f"{figure.ratio:.2f}"
    return f"{number(figure.value)} {figure.unit}"


def _label(figure: Figure) -> str:
    if figure.part == "growth":
        return f"1,000 times the jobs: {figure.name}"
    return f"{figure.name} : {figure.baseline}" if figure.baseline else figure.name


def _svg(height: int, body: list[str]) -> str:
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}">',
            f"<style>{STYLE}</style>",
            *body,
            "</svg>\n",
        ]
    )
