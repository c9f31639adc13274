"""A fabric drawn with the load of its links: a standalone SVG, and a page around it.

Nodes stand level by level, core on top. Each link is two lines, one for each direction, each on its own left. Colour
and width say the utilisation, in steps; failed links are dashed and grey.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from anabranch.base.fabric import LEVELS
from anabranch.errors import RoutingError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.base.fabric import Fabric
    from anabranch.routing.model import LoadReport, SchemeLoads

WIDTH = 1080
MARGIN = 96
TOP = 92
GAP = 150
MOST_LINKS = 3000
"""More links than this are a grey mass."""
NAMED = 24
"""Nodes of a level up to which each has its name below it."""
NEXT = 1e-9

STEPS = ("#d9dde2", "#f0d08f", "#f1b45f", "#ec9145", "#da6b43", "#bd4652", "#8c2d63", "#4c1a5c")
"""Colours from an idle link to the most utilised one: those of the report's page (`report.css`)."""

STYLE = """
svg { background: #fff; font-family: system-ui, "Liberation Sans", sans-serif; }
text { fill: #30363d; font-size: 12px; } .title { font-size: 17px; font-weight: 600; } .soft { fill: #59636e; }
rect.node { fill: #30363d; } circle.node { fill: #59636e; } .name { font-size: 9.5px; text-anchor: middle; }
line { stroke-linecap: round; } .failed { stroke: #8c959f; stroke-dasharray: 5 5; stroke-width: 1.4; }
.halo { paint-order: stroke; stroke: #fff; stroke-width: 4px; }
"""


def svg(report: LoadReport, scheme: SchemeLoads) -> str:
    """Draw the fabric with the loads of one scheme.

    Raises
    ------
    RoutingError
        If the fabric has too many links to be legible.
    """
    fabric = report.fabric
    if len(fabric.links) > MOST_LINKS:
        raise RoutingError(
            f"{len(fabric.links)} links cannot be told apart in a drawing: expected {MOST_LINKS} at most",
            hint="--json has the load of every link",
        )
    places, levels, height = _places(fabric)
    used = _utilisation(report, scheme)
    top = max(used, default=0.0)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"',
        f' role="img" aria-label="{escape(scheme.scheme)}: links by utilisation"><style>{STYLE}</style>',
        f'<text class="title" x="14" y="28">{escape(headline(report, scheme))}</text>',
        *_legend(top),
    ]
    order = sorted(range(len(used)), key=lambda port: used[port])  # the busiest on top
    for link, (ends, works) in enumerate(zip(fabric.links, report.alive, strict=True)):
        if not works:
            (x1, y1), (x2, y2) = places[ends.a], places[ends.b]
            name = f"{fabric.nodes[ends.a].name}-{fabric.nodes[ends.b].name}"
            ends_at = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
            parts.append(f'<line class="failed" {ends_at}><title>{escape(name)}: failed</title></line>')
            order = [port for port in order if port // 2 != link]
    for port in order:
        title = f"load {scheme.ports[port]:.6g}, utilisation {used[port]:.6g}"
        parts.append(_line(fabric, places, port, _step(used[port], top), title))
    parts.extend(_nodes(fabric, places, levels, scheme))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def html(report: LoadReport, schemes: Sequence[SchemeLoads]) -> str:
    """A page with a drawing for each scheme, the least utilised first, and their loads as a table."""
    schemes = sorted(schemes, key=lambda one: round(one.utilisation.load.value, 9))
    rows = "".join(
        f"<tr><td>{escape(one.scheme)}</td><td>{one.mload.load}</td><td>{escape(one.mload.at)}</td>"
        f"<td>{one.mloadsw.load}</td><td>{one.perf or ''}</td></tr>"
        for one in schemes
    )
    drawings = "".join(f"<section>{svg(report, one)}</section>" for one in schemes)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<title>Loads by routing scheme</title><style>body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto;"
        " max-width: 68rem; padding: 0 1rem; color: #30363d; background: #fff } table { border-collapse: collapse }"
        " td, th { padding: .2rem .9rem .2rem 0; text-align: left; border-bottom: 1px solid #d0d7de }"
        " svg { max-width: 100%; height: auto } section { margin-top: 2rem }</style></head><body>"
        f"<h1>Loads by routing scheme</h1><p>{escape(summary(report))}</p>"
        "<table><thead><tr><th>scheme</th><th>MLOAD</th><th>on</th><th>MLOADSW</th><th>PERF</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>{drawings}</body></html>\n"
    )


def headline(report: LoadReport, scheme: SchemeLoads) -> str:
    """One line about a scheme: its most utilised link, and the least that is possible."""
    used = scheme.utilisation
    least = "" if report.optimum is None else f"; least possible {report.optimum.load}"
    return f"{scheme.scheme}: utilisation {used.load} on {used.at}{least}"


def summary(report: LoadReport) -> str:
    """One line about the traffic."""
    least = "not known" if report.optimum is None else f"{report.optimum.load} ({report.optimum.method})"
    traffic = f"{report.pairs} pairs send {report.total} in all; base load {report.baseload}"
    return f"{traffic}; least possible utilisation {least}."


def _utilisation(report: LoadReport, scheme: SchemeLoads) -> list[float]:
    hosts = report.fabric.hosts
    links = report.fabric.links
    reference = min(link.rate_bps for link in links if min(link.a, link.b) < hosts)
    return [load * reference / links[port // 2].rate_bps for port, load in enumerate(scheme.ports)]


def _step(value: float, top: float) -> int:
    """Step of a utilisation: 0 for an idle link, the last for the most utilised."""
    if value <= NEXT or top <= 0:
        return 0
    last = len(STEPS) - 1
    return max(1, min(last, 1 + int((value / top) * last - NEXT)))


def _places(fabric: Fabric) -> tuple[list[tuple[float, float]], dict[str, int], int]:
    members = {level: [i for i, node in enumerate(fabric.nodes) if node.level == level] for level in LEVELS}
    present = [level for level in LEVELS if members[level]]
    places = [(0.0, 0.0)] * len(fabric.nodes)
    for row, level in enumerate(present):
        nodes = sorted(members[level], key=lambda i: (fabric.nodes[i].pod is None, fabric.nodes[i].pod or 0, i))
        step = (WIDTH - MARGIN - 24) / len(nodes)
        for place, node in enumerate(nodes):
            places[node] = (MARGIN + (place + 0.5) * step, TOP + 22 + row * GAP)
    return places, {level: len(members[level]) for level in present}, TOP + 22 + (len(present) - 1) * GAP + 42


def _line(fabric: Fabric, places: Sequence[tuple[float, float]], port: int, step: int, title: str) -> str:
    link = fabric.links[port // 2]
    a, b = (link.a, link.b) if port % 2 == 0 else (link.b, link.a)
    (x1, y1), (x2, y2) = places[a], places[b]
    length = max(1.0, ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** 0.5)
    # Each direction keeps to its own left.
    dx, dy = 2.4 * (y2 - y1) / length, -2.4 * (x2 - x1) / length
    title = f"{fabric.nodes[a].name}-{fabric.nodes[b].name}: {title}"
    return (
        f'<line x1="{x1 + dx:.1f}" y1="{y1 + dy:.1f}" x2="{x2 + dx:.1f}" y2="{y2 + dy:.1f}" stroke="{STEPS[step]}"'
        f' stroke-width="{1.1 + 0.45 * step:.2f}"><title>{escape(title)}</title></line>'
    )


def _legend(top: float) -> list[str]:
    parts = ['<text class="soft" x="14" y="56">utilisation</text>']
    last = len(STEPS) - 1
    for step, colour in enumerate(STEPS):
        x = MARGIN + step * 120
        label = "idle" if step == 0 else f"up to {top * step / last:.3g}"
        parts.append(
            f'<line x1="{x}" y1="52" x2="{x + 34}" y2="52" stroke="{colour}" stroke-width="{1.1 + 0.45 * step:.2f}"/>'
            f'<text class="soft" x="{x + 40}" y="56">{label}</text>'
        )
    return parts


def _nodes(
    fabric: Fabric, places: Sequence[tuple[float, float]], levels: dict[str, int], scheme: SchemeLoads
) -> list[str]:
    parts = []
    heights: dict[str, float] = {}
    for index, (node, (x, y)) in enumerate(zip(fabric.nodes, places, strict=True)):
        crowd = levels[node.level]
        heights[node.level] = y
        side = max(2.4, min(10.0, 0.3 * (WIDTH - MARGIN) / crowd))
        title = f"<title>{escape(node.name)}: load {scheme.nodes[index]:.6g}</title>"
        if node.level == "host":
            parts.append(f'<circle class="node" cx="{x:.1f}" cy="{y:.1f}" r="{side / 2:.1f}">{title}</circle>')
        else:
            box = f'x="{x - side:.1f}" y="{y - side / 2:.1f}" width="{2 * side:.1f}" height="{side:.1f}"'
            parts.append(f'<rect class="node" {box}>{title}</rect>')
        if crowd <= NAMED:
            above = node.level in {"core", "aggregation", "edge"} and y == min(p[1] for p in places)
            shift = -12 if above else 20
            parts.append(f'<text class="name halo" x="{x:.1f}" y="{y + shift:.1f}">{escape(node.name)}</text>')
    for level, y in heights.items():
        parts.append(
            f'<text x="14" y="{y:.0f}">{level}</text><text class="soft" x="14" y="{y + 15:.0f}">{levels[level]}</text>'
        )
    return parts
