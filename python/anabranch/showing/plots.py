"""The report's figures in a notebook: ``results.plot.fct_cdf()`` and the like, as Altair charts."""

from __future__ import annotations

import copy
import json
from math import isclose
from typing import TYPE_CHECKING, Any

import altair as alt

from anabranch.errors import StatisticsError
from anabranch.results import stats
from anabranch.results.comparison import compare
from anabranch.showing.axes import CONFIG
from anabranch.showing.report.by_size import QUANTILES, by_size
from anabranch.showing.report.charts import Charts
from anabranch.showing.report.happened import nanoseconds
from anabranch.showing.report.multiples import multiples
from anabranch.showing.report.over_time import Choice, over_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.results.tables import Tables
    from anabranch.showing.report.charts import Chart

WIDTH, HEIGHT = 460, 260
"""Size of a chart in pixels; `properties(width=..., height=...)` of the chart changes it."""


class Plots:
    """Maker of an experiment's figures: each method returns an Altair chart that a notebook shows.

    Parameters
    ----------
    results
        An experiment.

    Notes
    -----
    Where an experiment varies more than what is compared (`anabranch.results.comparison`), each figure is of one sweep
    point: say which with the point's keys, ``results.plot.fct_cdf(load=0.8)``: by their last part, or as a whole,
    ``fct_cdf(**{"fabric.k": 8})``.
    """

    def __init__(self, results: Tables) -> None:
        self._results = results
        self._comparison = compare(results)
        self._charts = Charts(results, self._comparison)

    def fct_cdf(self, bucket: str = "all", **point: object) -> alt.LayerChart:
        """Distribution of flow completion times, all seeds pooled.

        Parameters
        ----------
        bucket
            Sizes of the flows: name of one of `anabranch.stats.BUCKETS`.
        **point
            The sweep point, if there are several.

        Raises
        ------
        StatisticsError
            If there is no such bucket or point, or it has no such flows.
        """
        return self._layer(self._one(self._charts.fct(self._point(point)), _label(bucket)))

    def fct_tail(self, bucket: str = "all", **point: object) -> alt.LayerChart:
        """Complementary distribution of flow completion times on two log axes; parameters as of `fct_cdf`."""
        return self._layer(self._one(self._charts.fct(self._point(point)), f"{_label(bucket)}, tail"))

    def slowdown(self, percentile: int = 99, **point: object) -> alt.LayerChart:
        """Median (50) or 99th percentile of the slowdown by size bucket, with intervals over seeds."""
        headings = {50: "Median slowdown", 99: "p99 slowdown"}
        if percentile not in headings:
            raise StatisticsError(f"percentile {percentile}: expected 50 or 99")
        keys = [self._comparison.series, *self._comparison.panel_keys]
        chosen = self._point(point)
        table = stats.fct_table(self._results, by=keys)
        return self._layer(self._one(self._charts.slowdown(chosen, table), headings[percentile]))

    def slowdown_by_size(self, percentile: float = 99, **point: object) -> alt.LayerChart:
        """Slowdown against the size of flows at the median (50), p99 or p99.9, with intervals over seeds.

        The axis of sizes goes by the share of flows: each tenth of it is a tenth of the flows.

        Raises
        ------
        StatisticsError
            If flows or sizes are too few, or there is no such point.
        """
        heading = next((text for known, text in QUANTILES.items() if isclose(100 * known, percentile)), None)
        if heading is None:
            raise StatisticsError(f"percentile {percentile}: expected 50, 99 or 99.9")
        return self._layer(self._one(by_size(self._charts, self._point(point)), heading))

    def goodput(self, *, background: bool = False, **point: object) -> alt.LayerChart:
        """Goodput of every flow by rank, of flows with an end or of background flows."""
        heading = "Background flows" if background else "Flows"
        return self._layer(self._one(self._charts.goodput(self._point(point)), heading))

    def over_time(
        self,
        *,
        links: Sequence[str] = (),
        sessions: Sequence[int] = (),
        begin: str | None = None,
        end: str | None = None,
        **point: object,
    ) -> alt.VConcatChart:
        """What ``[measure]`` recorded, over time: rows with one cursor, and a strip below them to zoom with.

        Parameters
        ----------
        links
            Links to show: ``leaf0-spine0`` for both directions, ``leaf0 → spine0`` for one. Default: the busiest, and
            those that a failure is of.
        sessions
            Sessions to show, by number. Default: the busiest, and those that lost goodput at a failure.
        begin, end
            Part of the run, as times of a scenario: ``2ms``. A curve has 240 points at most: a shorter part shows finer
            samples.
        **point
            The sweep point, if there are several.

        Raises
        ------
        StatisticsError
            If nothing was measured, or there is no such link, session or part of the run.
        """
        choice = Choice(tuple(links), tuple(sessions), _time("begin", begin), _time("end", end))
        found = over_time(self._results, self._comparison, self._point(point), choice)
        if found is None:
            raise StatisticsError("nothing was measured over time", hint="[measure] with an `interval` asks for it")
        looks = [self._comparison.look(value) for value in self._comparison.values]
        spec = multiples(found, looks, CONFIG)
        for row in spec["vconcat"]:
            row["width"] = WIDTH
        chart: alt.VConcatChart = alt.VConcatChart.from_dict(_stands_alone(spec))
        return chart

    def _point(self, given: Mapping[str, object]) -> Mapping[str, Any]:
        """The panel that the caller means."""
        panels, keys = self._comparison.panels, self._comparison.panel_keys
        known = {self._comparison.names.get(key, key): key for key in keys} | {key: key for key in keys}
        for key in given:
            if key not in known:
                hint = f"the experiment varies {', '.join(keys)}" if keys else "there is one sweep point"
                raise StatisticsError(f"no sweep key {key!r} to choose by", hint=hint)
        found = [panel for panel in panels if all(panel[known[key]] == value for key, value in given.items())]
        if len(found) != 1:
            some = "; ".join(", ".join(f"{key}={value!r}" for key, value in panel.items()) for panel in panels[:4])
            raise StatisticsError(f"{len(found)} sweep points fit", hint=f"choose one: {some}")
        return found[0]

    @staticmethod
    def _one(charts: Sequence[Chart], heading: str) -> Chart:
        for chart in charts:
            if chart.heading == heading:
                return chart
        there = ", ".join(chart.heading for chart in charts) or "none"
        raise StatisticsError(f"no figure for {heading!r}", hint=f"there are: {there}")

    @staticmethod
    def _layer(chart: Chart) -> alt.LayerChart:
        spec = _stands_alone(chart.spec)
        spec |= {"width": WIDTH, "height": HEIGHT, "title": {"text": chart.heading, "subtitle": chart.caption}}
        made: alt.LayerChart = alt.LayerChart.from_dict(spec)
        return made


def _time(name: str, text: str | None) -> float | None:
    """A time of a scenario in nanoseconds."""
    found = None if text is None else nanoseconds(text)
    if text is not None and found is None:
        raise StatisticsError(f"{name} = {text!r}: expected a time", hint="such as '2ms' or '0.5s'")
    return found


def _label(bucket: str) -> str:
    for known in stats.BUCKETS:
        if bucket in {known.name, known.label}:
            return known.label
    names = ", ".join(repr(known.name) for known in stats.BUCKETS)
    raise StatisticsError(f"no size bucket {bucket!r}", hint=f"the buckets are {names}")


def _stands_alone(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Give a chart of the page the legend that the page has, and a colour for text that no page says."""
    found: dict[str, Any] = copy.deepcopy(dict(spec))
    found = json.loads(json.dumps(found).replace('"currentColor"', '"#555"'))
    found["config"] = {key: value for key, value in found["config"].items() if key != "background"}
    _with_legend(found)
    return found


def _with_legend(part: Any) -> None:  # noqa: ANN401 - of JSON
    """Let the legends of series be drawn, those of one look as one."""
    if isinstance(part, dict):
        for value in part.values():
            if isinstance(value, dict) and value.get("field") == "series" and "legend" in value:
                value["legend"] = {"title": None, "orient": "bottom", "symbolSize": 60}
            _with_legend(value)
    elif isinstance(part, list):
        for value in part:
            _with_legend(value)
