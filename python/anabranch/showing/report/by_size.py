"""Charts of the slowdown against the size of flows: the median, p99 and p99.9."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import altair as alt

from anabranch.base import units
from anabranch.results import stats
from anabranch.results.by_size import groups_for, of_flows
from anabranch.results.comparison import within
from anabranch.showing.axes import as_low, inline, log_axis
from anabranch.showing.report.charts import Chart

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anabranch.results.by_size import SizeGroups
    from anabranch.showing.report.charts import Charts

QUANTILES = {0.5: "Median slowdown by size", 0.99: "p99 slowdown by size", 0.999: "p99.9 slowdown by size"}
"""Quantile to the heading of its chart."""

TICKS = 10
"""Parts of the axis of sizes."""


def by_size(charts: Charts, point: Mapping[str, Any]) -> list[Chart]:
    """The slowdown against the size, a curve for each of what is compared; nothing where flows or sizes are few."""
    rows = charts.flows.filter(stats.FINITE & within(point, columns=charts.flows.columns))
    lost = rows["slowdown"].null_count()
    made = []
    for quantile, heading in QUANTILES.items():
        groups = groups_for(rows, [charts.comparison.series], quantile)
        if groups is not None:
            caption = f"{len(groups)} groups of flows by size, as many in each; bands: 95 % interval over seeds"
            caption += f"; {lost} flows that did not finish are missing" if lost else ""
            made.append(Chart(heading, caption, _chart(charts, rows, groups, quantile)))
    return made


def _chart(charts: Charts, rows: Any, groups: SizeGroups, quantile: float) -> dict[str, Any]:  # noqa: ANN401 - a frame
    series = charts.comparison.series
    table = of_flows(rows, charts.results, by=[series], quantile=quantile)
    data = [
        {
            "x": round(row["share"], 4),
            "y": float(f"{row['slowdown']:.4g}"),
            # No slowdown is below 1, and a log axis has no zero.
            "low": float(f"{max(row['slowdown'] - (row['slowdown_ci'] or 0.0), 1.0):.4g}"),
            "high": float(f"{row['slowdown'] + (row['slowdown_ci'] or 0.0):.4g}"),
            "size": units.size(row["up_to_bytes"]),
            "series": charts.comparison.look(row[series]).label,
        }
        for row in table.to_dicts()
    ]
    base = alt.Chart(inline(data)).encode(x=_sizes(groups))
    y = log_axis(alt.Y("y:Q", title="slowdown"), [row[end] for row in data for end in ("low", "high")])
    colour = charts.encodings()["color"]
    band = base.mark_area(opacity=0.16).encode(y=as_low(y), y2="high:Q", color=colour)
    dash = alt.StrokeDash("series:N", scale=charts.dash, legend=None)
    lines = base.mark_line(strokeWidth=1.8).encode(y=y, color=colour, strokeDash=dash)
    tips = [
        alt.Tooltip("series:N", title=charts.series_name),
        alt.Tooltip("size:N", title="up to"),
        alt.Tooltip("y:Q", title="slowdown", format=".4~g"),
        alt.Tooltip("low:Q", title="from", format=".4~g"),
        alt.Tooltip("high:Q", title="to", format=".4~g"),
    ]
    points = base.mark_point(filled=True, size=46, opacity=1).encode(y=y, tooltip=tips, **charts.encodings())
    return charts.finish(alt.layer(band, lines, points))


def _sizes(groups: SizeGroups) -> alt.X:
    """An axis on which equal lengths are equal numbers of flows, with the sizes that end there."""
    ticks = [part / TICKS for part in range(1, TICKS + 1)]
    names = [units.size(groups.size_at(tick), 2) for tick in ticks]
    shown = f"{names!r}[round(datum.value * {TICKS}) - 1]"
    axis = alt.Axis(values=ticks, labelExpr=shown, labelAngle=-45, labelOverlap=False)
    title = "flow size (each tick: a tenth of the flows)"
    return alt.X("x:Q", title=title, scale=alt.Scale(domain=[0, 1], nice=False), axis=axis)
