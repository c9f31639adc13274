"""The fabric drawn with what its links saw: an SVG of levels from core to hosts, coloured by the page's own script.

The drawing holds no numbers: `Drawing.data` packs those of every series and sweep point, of which ``report.js`` shows
one at a time.
Colours are classes, so that light, dark and print each have their own scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup, escape

from anabranch.base.fabric import LEVELS
from anabranch.results.comparison import within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.base.fabric import Fabric
    from anabranch.results.comparison import Comparison
    from anabranch.results.tables import Tables

WIDTH = 1200
GAP = 135
MARGIN = 74
MOST_LINKS = 4000
"""More links than this are a grey mass: the layer table says more."""
MOST_VIEWS = 120
"""Runs to choose from at most."""
MOST_NUMBERS = 400_000
"""Numbers that all views together may hold, to keep the file small."""
STEPS = 8
"""Steps of the colour scale; step 0 is zero."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Something to colour links by: its key, its name, its unit, how to average it over seeds, and its scale."""

    key: str
    name: str
    unit: str
    over_seeds: pl.Expr
    linear: bool = False


METRICS = (
    Metric("utilisation", "utilisation", "%", pl.col("utilisation").mean() * 100, linear=True),
    Metric("queue_max", "longest queue", "packets", pl.col("queue_max_packets").cast(pl.Float64).mean()),
    Metric("queue_mean", "mean queue", "bytes", pl.col("queue_mean_bytes").mean()),
    Metric("dropped", "packets dropped", "packets", pl.col("dropped").cast(pl.Float64).mean()),
    Metric("trimmed", "packets trimmed", "packets", pl.col("trimmed").cast(pl.Float64).mean()),
    Metric("marked", "packets marked", "packets", pl.col("marked").cast(pl.Float64).mean()),
)
"""Per link and direction, averaged over seeds."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """The SVG, the numbers for it, what they are of (series value and setting), and what a reader should know."""

    svg: Markup
    data: Mapping[str, Any]
    views: Sequence[tuple[str, str]]
    metrics: Sequence[Metric]
    note: str


def draw(results: Tables, comparison: Comparison) -> Drawing | None:
    """Draw the fabric, or return None if it has too many links to be legible or no run measured it."""
    fabric = results.fabric
    if not fabric.links or len(fabric.links) > MOST_LINKS:
        return None
    frame = results.links
    most = min(MOST_VIEWS, max(1, MOST_NUMBERS // (2 * len(fabric.links) * len(METRICS))))
    views: list[tuple[str, str]] = []
    tables: list[dict[str, list[float]]] = []
    skipped = 0
    points = {comparison.title(point): point for point in _run_points(comparison)}
    for name, point in points.items():
        for value in comparison.values:
            if len(views) == most:
                skipped += 1
                continue
            rows = frame.filter(within({**point, comparison.series: value}, columns=frame.columns))
            numbers = _numbers(rows, fabric)
            if numbers is None:
                skipped += not rows.is_empty()
                continue
            look = comparison.look(value).label
            views.append((look, name))
            tables.append(numbers)
    if not views:
        return None
    shown = [metric for metric in METRICS if any(any(table[metric.key]) for table in tables)]
    data = {
        "views": [{key: table[key] for key in (metric.key for metric in shown)} for table in tables],
        "steps": {metric.key: _steps(metric, tables) for metric in shown},
        "units": {metric.key: metric.unit for metric in shown},
        "links": [[fabric.nodes[link.a].name, fabric.nodes[link.b].name] for link in fabric.links],
        "up": [int(_height(fabric, link.b) >= _height(fabric, link.a)) for link in fabric.links],
    }
    note = f"{skipped} sweep points are not drawn: another fabric, or too many for one file." if skipped else ""
    return Drawing(_svg(fabric), data, views, shown, note)


def _run_points(comparison: Comparison) -> list[dict[str, Any]]:
    """Panels without the workload: links carry all workloads."""
    points = [{key: value for key, value in point.items() if key != "workload"} for point in comparison.panels]
    return [point for place, point in enumerate(points) if point not in points[:place]]


def _height(fabric: Fabric, node: int) -> int:
    return -LEVELS.index(fabric.nodes[node].level)


def _numbers(rows: pl.DataFrame, fabric: Fabric) -> dict[str, list[float]] | None:
    """One number per directed link and metric, or None if the rows are of another fabric."""
    means = (
        rows.group_by("link")
        .agg(pl.col("src").first(), pl.col("dst").first(), *(metric.over_seeds.alias(metric.key) for metric in METRICS))
        .sort("link")
    )
    if means["link"].to_list() != list(range(2 * len(fabric.links))):
        return None
    ends = [(fabric.nodes[link.a].name, fabric.nodes[link.b].name) for link in fabric.links]
    expected = [end for a, b in ends for end in ((a, b), (b, a))]
    if list(zip(means["src"], means["dst"], strict=True)) != expected:
        return None
    return {metric.key: [_short(value) for value in means[metric.key]] for metric in METRICS}


def _short(value: float | None) -> float:
    """Round to three digits; whole numbers become integers, which JSON writes shorter."""
    if not value:
        return 0
    short = float(f"{value:.3g}")
    return int(short) if short.is_integer() else short


def _steps(metric: Metric, tables: Sequence[Mapping[str, Sequence[float]]]) -> list[float]:
    """Lower bounds of the colour steps from 1 up, the same for every view, so that views compare."""
    if metric.linear:
        return [0.5, *(100 * step / (STEPS - 1) for step in range(1, STEPS - 1))]
    top = max(max(table[metric.key]) for table in tables)
    least = min(1.0, top)
    if top <= STEPS - 1:
        return [step * top / (STEPS - 1) for step in range(1, STEPS)]
    ratio = (top / least) ** (1 / (STEPS - 1))
    return [float(f"{least * ratio**step:.2g}") for step in range(STEPS - 1)]


def _places(fabric: Fabric) -> tuple[list[tuple[float, float]], list[tuple[str, int, float]], float]:
    """Place of every node; name, size and height of every level that occurs; height of the drawing."""
    members = {level: [i for i, node in enumerate(fabric.nodes) if node.level == level] for level in LEVELS}
    present = [level for level in LEVELS if members[level]]
    places = [(0.0, 0.0)] * len(fabric.nodes)
    levels: list[tuple[str, int, float]] = []
    for row, level in enumerate(present):
        y = 34 + row * GAP
        nodes = sorted(members[level], key=lambda i: (fabric.nodes[i].pod is None, fabric.nodes[i].pod or 0, i))
        step = (WIDTH - MARGIN - 14) / len(nodes)
        for place, node in enumerate(nodes):
            places[node] = (MARGIN + (place + 0.5) * step, y)
        levels.append((level, len(nodes), y))
    return places, levels, 34 + (len(present) - 1) * GAP + 34


def _svg(fabric: Fabric) -> Markup:
    places, levels, height = _places(fabric)
    parts = [
        f'<svg id="fabric" viewBox="0 0 {WIDTH} {height:.0f}" role="img"',
        f' aria-label="{fabric.hosts} hosts and {fabric.switches} switches by level">',
        '<g id="links" tabindex="0" role="group" aria-label="links: arrow keys go from one to the next">',
    ]
    for link in fabric.links:
        (x1, y1), (x2, y2) = places[link.a], places[link.b]
        if y1 == y2:  # neighbours on one level (dumbbell, arbitrary graphs): an arc above them
            bend = y1 - min(40.0, abs(x2 - x1) / 4 + 12)
            parts.append(f'<path d="M{x1:.1f} {y1:.1f}Q{(x1 + x2) / 2:.1f} {bend:.1f} {x2:.1f} {y2:.1f}"/>')
        else:
            parts.append(f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>')
    parts.append('</g><g id="nodes">')
    crowd = {level: count for level, count, _ in levels}
    for node, (x, y) in zip(fabric.nodes, places, strict=True):
        side = max(2.4, min(9.0, 0.32 * (WIDTH - MARGIN) / crowd[node.level]))
        shape = (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{side / 2:.1f}">'
            if node.level == "host"
            else f'<rect x="{x - side:.1f}" y="{y - side / 2:.1f}" width="{2 * side:.1f}" height="{side:.1f}">'
        )
        parts.append(f"{shape}<title>{escape(node.name)}</title></{'circle' if node.level == 'host' else 'rect'}>")
    parts.append("</g><g>")
    names = fabric.level_names()
    for level, count, y in levels:
        parts.append(f'<text x="2" y="{y - 2:.0f}">{escape(names[level])}</text>')
        parts.append(f'<text x="2" y="{y + 13:.0f}">{count}</text>')
    parts.append("</g></svg>")
    # Everything but the escaped names is made here.
    return Markup("".join(parts))  # noqa: S704
