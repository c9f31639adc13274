"""Charts of the report, as Vega-Lite specifications.

Text, axes and grid are drawn in ``currentColor``: the page's colour in light, dark and print, without drawing twice.
Every series keeps its colour, dash and marker (`anabranch.base.styles`); the page shows the legend once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import altair as alt
import numpy as np
import polars as pl

from anabranch.base import units
from anabranch.results import stats
from anabranch.results.comparison import within
from anabranch.showing.axes import CONFIG, MARKERS, as_low, inline, log_axis, spec_of, toggled
from anabranch.showing.curves import POINTS, cdf, ranks, rounded
from anabranch.showing.report.controlled import timelines
from anabranch.showing.report.timeline import SETTINGS, envelope

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.results.comparison import Comparison
    from anabranch.results.tables import Tables
    from anabranch.showing.report.controlled import Timeline

HEIGHT = 230
TAIL = 20
"""Flows of a curve from which on its tail is drawn."""

SPOTS = 70
"""Points of a curve that have a tooltip."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart: its heading, what it shows in a sentence, and its Vega-Lite specification."""

    heading: str
    caption: str
    spec: Mapping[str, Any]


class Charts:
    """Maker of an experiment's charts."""

    def __init__(self, results: Tables, comparison: Comparison) -> None:
        self.results = results
        self.comparison = comparison
        self.flows = results.flows
        decisions = results.scan("series").filter(pl.col("metric").str.starts_with("set_"))
        self.decisions = results.collect("series", decisions)
        self.values = comparison.values
        # Many panels share the size budget of one file.
        self.points = max(60, POINTS // max(1, len(comparison.panels) // 2))
        self.series_name = comparison.names.get(comparison.series, comparison.series)
        looks = [comparison.look(value) for value in self.values]
        self.labels = [look.label for look in looks]
        self.colour = alt.Scale(domain=self.labels, range=[look.colour for look in looks])
        self.dash = alt.Scale(domain=self.labels, range=[list(look.dash) or [1, 0] for look in looks])
        self.shape = alt.Scale(domain=self.labels, range=[look.marker for look in looks])

    def fct(self, point: Mapping[str, Any]) -> list[Chart]:
        """FCT distribution of each size bucket."""
        charts = []
        for bucket in stats.BUCKETS:
            rows = self._rows(point, stats.FINITE & bucket.holds())
            curves = []
            for value, label in zip(self.values, self.labels, strict=True):
                own = rows.filter(pl.col(self.comparison.series) == value)
                x, y = cdf(own["fct_ns"].drop_nulls().to_numpy() / 1e6, total=own.height, points=self.points)
                curves.append((label, x, y))
            if any(x.size for _, x, _ in curves):
                time = log_axis(alt.X("x:Q", title="FCT (ms)"), [x for _, x, _ in curves])
                share = alt.Y("y:Q", title="share of flows done by then", scale=alt.Scale(domain=[0, 1]))
                whole = self._curves(curves, share="y", x=time, y=share)
                charts.append(Chart(bucket.label, _flow_counts(rows), whole))
                tails = [(label, xs, 1.0 - ys) for label, xs, ys in curves]
                if min(xs.size for _, xs, _ in curves) < TAIL:
                    continue
                above = [ys[ys > 0] for _, _, ys in tails]
                share = log_axis(alt.Y("y:Q", title="share of flows that take longer"), above)
                charts.append(
                    Chart(f"{bucket.label}, tail", "the same from above, on a log axis", self._tail(tails, time, share))
                )
        return charts

    def _tail(self, curves: Sequence[tuple[str, np.ndarray, np.ndarray]], x: alt.X, y: alt.Y) -> dict[str, Any]:
        """Complementary distributions; what is 0 has no place on a log axis."""
        shown = [(label, xs[ys > 0], ys[ys > 0]) for label, xs, ys in curves]
        return self._curves(shown, share="y", x=x, y=y, descending=True)

    def goodput(self, point: Mapping[str, Any]) -> list[Chart]:
        """Goodput of every flow by rank, for flows with an end and for background flows."""
        charts = []
        for heading, condition in (("flows", stats.FINITE), ("background flows", pl.col("background"))):
            rows = self._rows(point, condition).drop_nulls("goodput_bps")
            if rows.is_empty():
                continue
            curves = []
            for value, label in zip(self.values, self.labels, strict=True):
                own = rows.filter(pl.col(self.comparison.series) == value)["goodput_bps"].to_numpy() / 1e6
                curves.append((label, *ranks(own, points=self.points)))
            charts.append(
                Chart(
                    heading.capitalize(),
                    f"every point a flow, from the slowest; {_flow_counts(rows)}",
                    self._curves(
                        curves,
                        share="x",
                        x=alt.X("x:Q", title="rank of flow (share)", scale=alt.Scale(domain=[0, 1])),
                        y=alt.Y("y:Q", title="goodput (Mbps)", scale=alt.Scale(zero=True)),
                    ),
                )
            )
        return charts

    def slowdown(self, point: Mapping[str, Any], table: pl.DataFrame) -> list[Chart]:
        """Slowdown by size bucket: median and p99 with intervals over seeds."""
        rows = table.filter(within(point, columns=table.columns))
        charts = []
        for metric, heading in (("slowdown_p50", "Median slowdown"), ("slowdown_p99", "p99 slowdown")):
            data = self._bars(rows, metric)
            if data:
                charts.append(
                    Chart(
                        heading,
                        "FCT / ideal FCT on the idle fabric; bars: 95 % interval over seeds",
                        self._points(data, "bucket", [b.label for b in stats.BUCKETS], "slowdown"),
                    )
                )
        return charts

    def settings(self, point: Mapping[str, Any]) -> list[Chart]:
        """What controllers set, over time: median over ports, and the range."""
        rows = self.decisions.filter(within(point, columns=self.decisions.columns))
        charts = []
        for metric, (name, unit, scale) in SETTINGS.items():
            data = []
            for value, label in zip(self.values, self.labels, strict=True):
                own = rows.filter((pl.col(self.comparison.series) == value) & (pl.col("metric") == metric))
                own = own.filter(pl.col("seed") == pl.col("seed").min()).sort("time_ns", maintain_order=True)
                found = envelope(own["time_ns"].to_list(), own["id"].to_list(), own["value"].to_list())
                if found:
                    # In force until the end.
                    found.append((self._end(own["run"][0], found[-1][0]), *found[-1][1:]))
                data += [
                    {"x": time / 1e6, "low": low / scale, "y": middle / scale, "high": high / scale, "series": label}
                    for time, low, middle, high in found
                ]
            if data:
                what = "rules" if metric == "set_admission" else "ports"
                caption = f"of the first seed: median of the {what} that were set, and their range"
                charts.append(Chart(name, caption, self._steps(data, f"{name.lower()} ({unit})")))
        return charts

    def _end(self, run: str, known: float) -> float:
        """When a run ended, in nanoseconds: not before what is known of it."""
        entry = next(entry for entry in self.results.manifest.runs if entry.run == run)
        return max(entry.simulated_ns or 0.0, known)

    def controlled(self, point: Mapping[str, Any]) -> list[Chart]:
        """What controllers decided for single links, over the queue and the throughput there."""
        rows = self.decisions.filter(within(point, columns=self.decisions.columns))
        charts = []
        for value, label in zip(self.values, self.labels, strict=True):
            own = rows.filter(pl.col(self.comparison.series) == value)
            own = own.filter(pl.col("seed") == pl.col("seed").min())
            for line in timelines(self.results, own):
                heading = line.link if len(self.values) == 1 else f"{line.link}, {label}"
                charts.append(Chart(heading, "first seed", self._timeline(line, self.comparison.look(value).colour)))
        return charts

    def _timeline(self, line: Timeline, colour: str) -> dict[str, Any]:
        """Throughput as an area with its axis on the right, the queue as a line, settings of it as steps over both."""
        packets = line.queue_metric == "queue_packets"
        queue_title, scale = ("queue (packets)", 1.0) if packets else ("queue (kB)", 1e3)
        x = alt.X("x:Q", title="time (ms)", scale=alt.Scale(domain=[0, line.end / 1e6], nice=False))
        names = ["queue", *dict.fromkeys(name for name, _, _ in line.steps), "throughput (right axis)"]
        colours = [colour, *["currentColor"] * (len(names) - 2), "#888888"]
        legend = alt.Legend(title=None, orient="top", labelColor="currentColor", symbolType="square", symbolOpacity=1)
        key = alt.Color("name:N", scale=alt.Scale(domain=names, range=colours), legend=legend)

        def rows(name: str, points: list[tuple[float, float]], unit: float) -> alt.InlineData:
            data = [{"x": time / 1e6, "y": value / unit, "name": name} for time, value in points]
            return inline(data)

        left, right = [], []
        if line.throughput:
            # A packet counts when its transmission starts: a sample may hold a little more than the link carries.
            most = max(100.0, *(100 * value for _, value in line.throughput))
            axis = alt.Axis(orient="right", grid=False, values=[0, 25, 50, 75, 100])
            share = alt.Y("y:Q", title="throughput (% of the link)", scale=alt.Scale(domain=[0, most]), axis=axis)
            # Each point is the mean since the one before: the first, since the start.
            shares = [(0.0, line.throughput[0][1]), *line.throughput]
            area = alt.Chart(rows(names[-1], shares, 0.01)).mark_area(opacity=0.28, interpolate="step-before")
            right.append(area.encode(x=x, y=share, color=key))
        depth = alt.Y("y:Q", title=queue_title, scale=alt.Scale(zero=True), axis=alt.Axis(orient="left"))
        if line.queue:
            base = alt.Chart(rows("queue", line.queue, scale)).mark_line(strokeWidth=1.3)
            left.append(base.encode(x=x, y=depth, color=key))
        for name in names[1:-1]:
            points = [(time, value) for of, time, value in line.steps if of == name]
            base = alt.Chart(rows(name, [*points, (line.end, points[-1][1])], scale))
            steps = base.mark_line(strokeWidth=2.4, strokeDash=[7, 3], interpolate="step-after")
            left.append(steps.encode(x=x, y=depth, color=key))
        if line.marks:
            marks = inline([{"x": time / 1e6, "name": text} for time, text in line.marks])
            left.append(alt.Chart(marks).mark_rule(strokeDash=[2, 2], color="currentColor").encode(x=x))
            words = alt.Chart(marks).mark_text(align="left", baseline="top", dx=3, color="currentColor")
            left.append(words.encode(x=x, y=alt.value(2), text="name:N"))
        layers = [alt.layer(*part) for part in (right, left) if part]
        return self.finish(alt.layer(*layers).resolve_scale(y="independent"))

    def _steps(self, data: list[dict[str, Any]], title: str) -> dict[str, Any]:
        end = max(row["x"] for row in data)
        x = alt.X("x:Q", title="time (ms)", scale=alt.Scale(domain=[0, end], nice=False))
        base = alt.Chart(inline(data)).encode(x=x)
        y, colour = alt.Y("y:Q", title=title), self.encodings()["color"]
        band = base.mark_area(opacity=0.2, interpolate="step-after").encode(y=as_low(y), y2="high:Q", color=colour)
        lines = base.mark_line(strokeWidth=1.8, interpolate="step-after").encode(
            y=y, color=colour, strokeDash=alt.StrokeDash("series:N", scale=self.dash, legend=None)
        )
        return self.finish(alt.layer(band, lines))

    def _rows(self, point: Mapping[str, Any], condition: pl.Expr) -> pl.DataFrame:
        return self.flows.filter(condition & within(point, columns=self.flows.columns))

    def _bars(self, rows: pl.DataFrame, metric: str) -> list[dict[str, Any]]:
        labels = {bucket.name: bucket.label for bucket in stats.BUCKETS}
        data = []
        for row in rows.to_dicts():
            value, half = row[metric], row[f"{metric}_ci"] or 0.0
            if value is not None:
                label = self.comparison.look(row[self.comparison.series]).label
                low = max(value - half, min(value, 1.0))  # a log axis has no zero, and no slowdown is below 1
                data.append(
                    {"bucket": labels[row["bucket"]], "y": value, "low": low, "high": value + half, "series": label}
                )
        return data

    @staticmethod
    def _values(name: str) -> list[alt.Tooltip]:
        """A value with the ends of its interval."""
        return [
            alt.Tooltip("y:Q", title=name, format=".4~g"),
            alt.Tooltip("low:Q", title="from", format=".4~g"),
            alt.Tooltip("high:Q", title="to", format=".4~g"),
        ]

    def encodings(self) -> dict[str, Any]:
        """Colour and marker of the series; the page has the legend."""
        return {
            "color": alt.Color("series:N", scale=self.colour, legend=None),
            "shape": alt.Shape("series:N", scale=self.shape, legend=None),
        }

    def _curves(
        self,
        curves: Sequence[tuple[str, np.ndarray, np.ndarray]],
        *,
        share: str,
        x: alt.X,
        y: alt.Y,
        descending: bool = False,
    ) -> dict[str, Any]:
        """Lines with a few markers, spread along the axis that is a share; those of different series stand apart.

        Tooltips are at unseen points all along the lines.
        """
        data, marks, spots = [], [], []
        for turn, (label, xs, ys) in enumerate(curves):
            rows = [{"x": a, "y": b, "series": label} for a, b in zip(rounded(xs), rounded(ys), strict=True)]
            data += rows
            spots += rows[:: max(1, len(rows) // SPOTS)]
            if rows:
                wanted = (np.arange(MARKERS) + (turn + 0.5) / len(curves)) / MARKERS
                shares = np.asarray([row[share] for row in rows], dtype=float)
                if descending:  # decades are as long as each other
                    shares = np.log10(shares) / min(-1.0, np.log10(shares[-1]))
                places = np.abs(shares[None, :] - wanted[:, None]).argmin(axis=1)
                marks += [rows[place] for place in np.unique(places)]
        tips = [
            alt.Tooltip("series:N", title=self.series_name),
            alt.Tooltip("x:Q", title=x["title"], format=".4~g"),
            alt.Tooltip("y:Q", title=y["title"], format=".4~g"),
        ]
        lines = (
            alt.Chart(inline(data))
            .mark_line(strokeWidth=1.8, interpolate="step-after" if share == "y" else "linear")
            .encode(
                x=x,
                y=y,
                order=alt.Order("y:Q", sort="descending" if descending else "ascending"),
                color=self.encodings()["color"],
                strokeDash=alt.StrokeDash("series:N", scale=self.dash, legend=None),
            )
        )
        points = (
            alt.Chart(inline(marks))
            .mark_point(filled=True, size=46, opacity=1)
            .encode(x=x, y=y, tooltip=tips, **self.encodings())
        )
        hover = alt.Chart(inline(spots)).mark_point(filled=True, size=120, opacity=0)
        return self.finish(alt.layer(lines, points, hover.encode(x=x, y=y, tooltip=tips)))

    def _points(self, data: list[dict[str, Any]], key: str, order: list[str], name: str) -> dict[str, Any]:
        """Points with error bars, side by side within each category, on a log axis."""
        base = alt.Chart(inline(data)).encode(
            x=alt.X(f"{key}:N", sort=order, title=None, axis=alt.Axis(labelAngle=0, labelLimit=90)),
            xOffset=alt.XOffset("series:N", sort=self.labels),
        )
        y = log_axis(alt.Y("y:Q", title=name), [row[end] for row in data for end in ("low", "high")])
        bars = base.mark_rule(strokeWidth=1.6).encode(
            y=as_low(y),
            y2="high:Q",
            color=self.encodings()["color"],
        )
        tips = [
            alt.Tooltip("series:N", title=self.series_name),
            alt.Tooltip(f"{key}:N"),
            *self._values(name),
        ]
        points = base.mark_point(filled=True, size=64, opacity=1).encode(y=y, tooltip=tips, **self.encodings())
        return self.finish(alt.layer(bars, points))

    @staticmethod
    def finish(chart: alt.LayerChart | alt.FacetChart, height: int = HEIGHT) -> dict[str, Any]:
        """Make the specification of a chart, as wide as its place on the page."""
        spec = spec_of(chart.properties(width="container", height=height))
        toggled(spec)
        spec["config"] = CONFIG
        return spec


def _flow_counts(rows: pl.DataFrame) -> str:
    """How many flows a curve shows, and over how many seeds they are pooled."""
    runs = rows["run"].n_unique()
    seeds = rows["seed"].n_unique()
    unfinished = rows.filter(~pl.col("background"))["fct_ns"].null_count()
    each = rows.height * seeds / runs
    text = f"{units.count(each)} flow{'' if each == 1 else 's'} a curve, {seeds} seed{'s pooled' if seeds > 1 else ''}"
    return text + (f"; {unfinished} of all did not finish" if unfinished else "")
