"""Figures as Vega-Lite: built once, drawn twice.

On the page each panel is a chart of its own in ``currentColor``, as wide as its place, with the legend in HTML. In
print a figure is one drawing on white, its panels side by side with the paper's captions below them and one legend
above.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import altair as alt
import numpy as np
import polars as pl
import vl_convert

from anabranch.showing.axes import CONFIG, MARKERS, as_low, inline, log_axis, spec_of, toggled, unchecked
from anabranch.showing.curves import rounded

Layers: TypeAlias = alt.LayerChart | alt.FacetChart
"""What `altair.layer` returns; none of ours is faceted."""

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anabranch.showing.figures.model import Axis, Figure, Panel, Reference, Series

PAGE_HEIGHT = 260
PRINT_WIDTH = {1: 330, 2: 270, 3: 205, 4: 160}
"""Width of a panel by panels in a row: a row fills the width of a page, one panel that of a column."""
PRINT_HEIGHT = 150
MOST_TICKS = 24
"""Values on a horizontal axis that have ticks, and labels where these have room."""
TICKS = 8
"""Ticks, about, of an axis with more values."""
SPOTS = 70
"""Points of a curve that have a tooltip."""
LEVEL = 30
"""Characters of all names on a horizontal axis that fit beside each other; longer ones are turned."""
CHARACTER = 5
"""Width of a printed character of a legend."""
RED = "#c8332b"
"""Lines to compare with."""
SERIES_SIZE = 5
"""Characters of a printed legend's entry beyond its text."""

PRINT_CONFIG: dict[str, Any] = {
    **CONFIG,
    "background": "white",
    "font": "Liberation Sans, Helvetica, Arial, sans-serif",
    "axis": {
        **{name: "black" if value == "currentColor" else value for name, value in CONFIG["axis"].items()},
        "labelFontSize": 9,
        "titleFontSize": 9.5,
        "titlePadding": 5,
    },
    "title": {"fontSize": 10, "fontWeight": "normal", "color": "black"},
    "legend": {"labelFontSize": 9.5, "title": None, "orient": "top", "direction": "horizontal", "labelLimit": 400},
}


@unchecked()
def page_spec(panel: Panel) -> dict[str, Any]:
    """Vega-Lite specification of a panel for the page: no size, no legend, no colour of its own for text."""
    chart = _chart(panel, room=0)
    spec = _spec(chart.properties(width="container", height=PAGE_HEIGHT), CONFIG)
    toggled(spec)
    return spec


@unchecked()
def print_spec(figure: Figure) -> dict[str, Any]:
    """Vega-Lite specification of a whole figure for print."""
    shared = alike(figure)
    columns = figure.columns or min(4, len(figure.panels))
    width = PRINT_WIDTH[min(columns, 4)]
    room = (width if not shared else width * min(columns, len(figure.panels))) // CHARACTER
    charts = []
    for panel in figure.panels:
        caption = f"({panel.key}) {panel.caption}".rstrip() if panel.key else panel.caption
        chart = _chart(panel, room=room if len(panel.series) > 1 else 0)
        if caption:
            chart = chart.properties(title=alt.TitleParams(caption, orient="bottom", offset=8))
        charts.append(chart.properties(width=width, height=PRINT_HEIGHT))
    if len(charts) == 1:
        return _spec(charts[0], PRINT_CONFIG)
    how: Literal["shared", "independent"] = "shared" if shared else "independent"
    chart = alt.concat(*charts, columns=columns).resolve_scale(color=how, shape=how, strokeDash=how)
    return _spec(chart, PRINT_CONFIG)


def svg(figure: Figure) -> str:
    """Draw a figure as SVG."""
    return vl_convert.vegalite_to_svg(print_spec(figure))


def pdf(figure: Figure) -> bytes:
    """Draw a figure as PDF, with fonts embedded."""
    return vl_convert.vegalite_to_pdf(print_spec(figure))


def alike(figure: Figure) -> bool:
    """Whether all panels of a figure show the same series, so that one legend serves them."""
    return len({tuple((series.label, series.style) for series in panel.series) for panel in figure.panels}) == 1


def _spec(chart: alt.TopLevelMixin, config: Mapping[str, Any]) -> dict[str, Any]:
    return spec_of(chart) | {"config": dict(config)}


class _Looks:
    """Scales and channels of a legend, `room` characters wide: one colour, dash and marker for each series."""

    def __init__(self, series: Sequence[Series], *, room: int) -> None:
        self.labels = [one.label for one in series]
        self.on_page = room == 0  # where the legend is HTML
        looks = [one.style for one in series]
        self._legend: Any = (
            alt.Legend(columns=_columns(self.labels, room), symbolDash=[1, 0], symbolStrokeWidth=0) if room else None
        )
        self._colour = alt.Scale(domain=self.labels, range=[look.colour for look in looks])
        self._dash = alt.Scale(domain=self.labels, range=[list(look.dash) or [1, 0] for look in looks])
        self._shape = alt.Scale(domain=self.labels, range=[look.marker for look in looks])

    @property
    def colour(self) -> alt.Color:
        return alt.Color("series:N", scale=self._colour, legend=self._legend, title=None)

    @property
    def dash(self) -> alt.StrokeDash:
        return alt.StrokeDash("series:N", scale=self._dash, legend=None)

    @property
    def shape(self) -> alt.Shape:
        return alt.Shape("series:N", scale=self._shape, legend=self._legend, title=None)


def _columns(labels: Sequence[str], room: int) -> int:
    """Entries of a legend in a row of so many characters."""
    longest = max((len(label) for label in labels), default=0) + SERIES_SIZE
    return max(1, min(len(labels), room // longest))


def _chart(panel: Panel, *, room: int) -> Layers:
    """Draw a panel, with a legend of `room` characters a row, or none."""
    looks = _Looks(panel.series, room=room)
    layers = KINDS[panel.kind](panel, looks)
    lines = [drawn for line in panel.references if (drawn := _reference(line, panel)) is not None]
    return alt.layer(layers, *lines) if lines else layers


def _rows(data: pl.DataFrame) -> list[dict[str, Any]]:
    """The points of a panel, rounded to keep the file small; columns without any value are left out."""
    columns: dict[str, list[Any]] = {}
    for name in data.columns:
        values = data[name]
        if values.null_count() == data.height:
            continue
        if values.dtype in {pl.String, pl.Boolean}:
            columns[name] = values.to_list()
        elif values.dtype == pl.Datetime:
            columns[name] = values.dt.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_list()
        else:
            columns[name] = [None if value is None else rounded(np.array([value]), 5)[0] for value in values]
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _numbers(data: pl.DataFrame, *columns: str) -> np.ndarray:
    """All numbers of some columns."""
    return np.concatenate([data[name].cast(pl.Float64).drop_nulls().to_numpy() for name in columns])


def _vertical(panel: Panel) -> alt.Y:
    y = alt.Y("y:Q", title=panel.y.title)
    lines = [line.y for line in panel.references if line.y is not None]
    values, ends = _numbers(panel.data, "y"), np.append(_numbers(panel.data, "y", "low", "high"), lines)
    if panel.y.log:
        if panel.y.domain is not None:
            return log_axis(y, [np.array(panel.y.domain)])
        # An interval may reach zero, which a logarithmic axis does not have.
        floor = values[values > 0].min(initial=np.inf) / 10
        shown = ends[ends >= floor]
        return log_axis(y, [shown]) if shown.size else y
    if panel.y.domain is not None:
        return y.scale(domain=list(panel.y.domain))
    # None of the papers' quantities is negative; an interval that reaches below zero is cut at the axis.
    positive = values.min(initial=0.0) >= 0
    return y.scale(domain=[0.0, float(ends.max(initial=0.0)) or 1.0], nice=True) if positive else y


def _horizontal(axis: Axis, data: pl.DataFrame, *, curve: bool) -> alt.X:
    if axis.dates:
        return alt.X("x:T", title=axis.title, scale=alt.Scale(type="utc"))
    x = alt.X("x:Q", title=axis.title)
    values = np.unique(_numbers(data, "x"))
    if axis.log:
        return log_axis(x, [values[values > 0]]) if (values > 0).any() else x
    if axis.domain is not None:
        return x.scale(domain=list(axis.domain))
    if curve:
        return x.scale(zero=False)
    # Points need room for their markers; a few values that were swept are the ticks, as in the papers.
    x = x.scale(zero=False, nice=False, padding=12)
    if 1 < values.size <= MOST_TICKS:
        return x.axis(alt.Axis(values=values.tolist(), format=".6~g", labelOverlap="greedy", labelSeparation=4))
    return x.axis(alt.Axis(tickCount=TICKS, format=".6~g"))


def _tips(panel: Panel, *, interval: bool) -> list[alt.Tooltip]:
    kind = "N" if panel.kind in {"bars", "stacked"} else "Q"
    tips = [
        alt.Tooltip("series:N", title="series"),
        alt.Tooltip("x:T", title=panel.x.title, format="%Y-%m-%d %H:%M")
        if panel.x.dates
        else alt.Tooltip(f"x:{kind}", title=panel.x.title or "x", format=alt.Undefined if kind == "N" else ".5~g"),
        alt.Tooltip("y:Q", title=panel.y.title, format=".4~g"),
    ]
    if "name" in panel.data.columns:
        tips.insert(0, alt.Tooltip("name:N", title="of"))
    if interval:
        tips += [alt.Tooltip(f"{end}:Q", title=f"{panel.interval}, {end}", format=".4~g") for end in ("low", "high")]
    return tips


def _curves(panel: Panel, looks: _Looks) -> Layers:
    """Lines with a few markers each, which stand apart from those of other series."""
    rows, marks, spots = _rows(panel.data), [], []
    by_y = panel.kind == "steps" and not panel.y.log
    for turn, label in enumerate(looks.labels):
        own = [row for row in rows if row["series"] == label and row.get("y") is not None]
        if own:
            # Dates are text here; their order does as well.
            along = (
                np.arange(len(own)) if panel.x.dates else np.array([row["y" if by_y else "x"] for row in own], float)
            )
            if not by_y and panel.x.log:
                along = np.log(np.maximum(along, 1e-300))
            wanted = (np.arange(MARKERS) + (turn + 0.5) / len(looks.labels)) / MARKERS
            targets = along.min() + wanted * (along.max() - along.min())
            marks += [own[place] for place in np.unique(np.abs(along[None, :] - targets[:, None]).argmin(axis=1))]
            spots += own[:: max(1, len(own) // SPOTS)]
    x, y = _horizontal(panel.x, panel.data, curve=True), _vertical(panel)
    lines = (
        alt.Chart(inline(rows))
        .mark_line(strokeWidth=1.7, interpolate="step-after" if panel.kind == "steps" else "linear", clip=True)
        .encode(x=x, y=y, order=alt.Order("x:Q"), color=looks.colour, strokeDash=looks.dash)
    )
    points = (
        alt.Chart(inline(marks))
        .mark_point(filled=True, size=40, opacity=1, clip=True)
        .encode(x=x, y=y, color=looks.colour, shape=looks.shape, tooltip=_tips(panel, interval=False))
    )
    if not looks.on_page:
        return alt.layer(lines, points)
    # Unseen points all along the curves, so that a reader can point at any place of them.
    hover = alt.Chart(inline(spots)).mark_point(filled=True, size=120, opacity=0, clip=True)
    return alt.layer(lines, points, hover.encode(x=x, y=y, tooltip=_tips(panel, interval=False)))


def _with_interval(rows: list[dict[str, Any]], *, log: bool) -> list[dict[str, Any]]:
    """The points that have an interval; on a logarithmic axis its lower end is kept above zero."""
    kept = [row for row in rows if row.get("low") is not None]
    return [{**row, "low": max(row["low"], row["y"] / 100)} if log and row["y"] > 0 else row for row in kept]


def _means(panel: Panel, looks: _Looks) -> Layers:
    rows = _rows(panel.data)
    x, y = _horizontal(panel.x, panel.data, curve=False), _vertical(panel)
    lines = alt.Chart(inline(rows)).mark_line(strokeWidth=1.7, clip=True)
    layers: list[alt.Chart] = [lines.encode(x=x, y=y, color=looks.colour, strokeDash=looks.dash)]
    known = _with_interval(rows, log=panel.y.log)
    if known:
        rules = alt.Chart(inline(known)).mark_rule(strokeWidth=1.3, clip=True)
        layers.append(rules.encode(x=x, y=as_low(y), y2="high:Q", color=looks.colour))
    tips = _tips(panel, interval=bool(known))
    points = alt.Chart(inline(rows)).mark_point(filled=True, size=44, opacity=1)
    layers.append(points.encode(x=x, y=y, color=looks.colour, shape=looks.shape, tooltip=tips))
    return alt.layer(*layers)


def _bars(panel: Panel, looks: _Looks) -> Layers:
    rows = _rows(panel.data)
    order = list(dict.fromkeys(row["x"] for row in rows))
    stacked = panel.kind == "stacked"
    turned = sum(len(str(name)) for name in order) > LEVEL
    axis = alt.Axis(labelAngle=-35, labelAlign="right", labelOverlap=False) if turned else alt.Axis(labelAngle=0)
    x = alt.X("x:N", title=panel.x.title or None, sort=order, axis=axis)
    y = alt.Y("y:Q", title=panel.y.title, stack=True) if stacked else _vertical(panel)
    base = alt.Chart(inline(rows)).encode(x=x)
    known = [] if stacked else _with_interval(rows, log=panel.y.log)
    tips = _tips(panel, interval=bool(known))
    if stacked:
        return alt.layer(base.mark_bar().encode(y=y, color=looks.colour, tooltip=tips))
    beside = alt.XOffset("series:N", sort=looks.labels, scale=alt.Scale(domain=looks.labels))
    bars = base.mark_bar(clip=True).encode(xOffset=beside, y=y.stack(None), color=looks.colour, tooltip=tips)
    heights = _numbers(panel.data, "y")
    if panel.y.log and (heights > 0).any():
        # A logarithmic axis has no zero for bars to stand on; below the axis nothing is drawn.
        bars = bars.encode(y2=alt.datum(float(heights[heights > 0].min()) / 1e3))
    layers = [bars]
    if known:
        rules = alt.Chart(inline(known)).encode(x=x, xOffset=beside)
        # `currentColor` would not do in print, and a bar's own colour is not seen on the bar.
        layers.append(rules.mark_rule(strokeWidth=1.2, color="#555", clip=True).encode(y=as_low(y), y2="high:Q"))
    return alt.layer(*layers)


def _points(panel: Panel, looks: _Looks) -> Layers:
    rows = _rows(panel.data)
    x, y = _horizontal(panel.x, panel.data, curve=True), _vertical(panel)
    if not panel.x.log:
        whole = bool((_numbers(panel.data, "x") % 1 == 0).all())
        # Numbers of things have no halves between them.
        x = x.scale(zero=False, padding=12).axis(alt.Axis(tickMinStep=1) if whole else alt.Axis())
    base = alt.Chart(inline(rows)).encode(x=x, y=y, color=looks.colour)
    dots = base.mark_point(filled=True, size=46, opacity=0.9)
    layers = [dots.encode(shape=looks.shape, tooltip=_tips(panel, interval=False))]
    circled = [row for row in rows if row.get("ring")]
    if circled:
        rings = alt.Chart(inline(circled)).mark_point(
            shape="circle", filled=False, size=120, strokeWidth=1.1, clip=True
        )
        layers.append(rings.encode(x=x, y=y, color=looks.colour))
    return alt.layer(*layers)


def _reference(line: Reference, panel: Panel) -> alt.Chart | None:
    """A line in red across the panel; none where there is nothing to compare."""
    if line.y is not None:
        ends, chart = [{"y": line.y}], alt.Chart().mark_rule(color=RED, strokeWidth=1.2, clip=True)
        drawn: alt.Chart = chart.encode(y=alt.Y("y:Q"))
    else:
        values = np.concatenate([_numbers(panel.data, "x"), _numbers(panel.data, "y")])
        shown = values[values > 0] if panel.x.log else values
        if not shown.size:
            return None
        ends = [{"x": end, "y": end} for end in (float(shown.min()), float(shown.max()))]
        drawn = alt.Chart().mark_line(color=RED, strokeWidth=1.2, clip=True).encode(x="x:Q", y="y:Q")
    return drawn.properties(data=inline(ends))


KINDS: dict[str, Callable[[Panel, _Looks], Layers]] = {
    "curves": _curves,
    "steps": _curves,
    "means": _means,
    "points": _points,
    "bars": _bars,
    "stacked": _bars,
}
"""By kind of panel, what draws it."""
