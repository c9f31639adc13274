"""The report's figures in a notebook: ``results.plot.fct_cdf()`` and the like, as Altair charts."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

import altair as alt

from anabranch import settings, stats
from anabranch.comparison import compare
from anabranch.errors import StatisticsError
from anabranch.report.charts import CONFIG, Charts
from anabranch.report.happened import nanoseconds
from anabranch.report.multiples import multiples
from anabranch.report.over_time import Choice, over_time

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.report.charts import Chart
    from anabranch.results import Results

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
    Where an experiment varies more than what is compared (`anabranch.comparison`), each figure is of one sweep point:
    say which with the point's keys, ``results.plot.fct_cdf(load=0.8)``: by their last part, or as a whole,
    ``fct_cdf(**{"fabric.k": 8})``.
    """

    def __init__(self, results: Results) -> None:
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


def page(results: Results) -> str:
    """An experiment as a notebook shows it: what was found, and the numbers of the summary.

    Returns
    -------
    str
        A piece of HTML without scripts.
    """
    from markupsafe import escape  # noqa: PLC0415 - together with the report

    from anabranch.comparison import summarise  # noqa: PLC0415
    from anabranch.findings import findings  # noqa: PLC0415
    from anabranch.notes import notes  # noqa: PLC0415

    comparison = compare(results)
    parts = [f"<p><b>{escape(sentence)}</b></p>" for sentence in findings(results)]
    panels = summarise(results, comparison)
    if len(panels) > settings.MANY:
        more = len(panels) - settings.MANY
        note = f"{more} more settings: anabranch.stats.fct_table(results) has them, results.plot draws them"
        parts.append(f"<p>{escape(note)}</p>")
    for panel in panels[: settings.MANY]:
        if panel.title:
            parts.append(f"<h4>{escape(panel.title)}</h4>")
        heads = "".join(f"<th>{escape(comparison.look(value).label)}</th>" for value in comparison.values)
        rows = []
        for group in panel.groups:
            rows.append(f'<tr><th colspan="{2 + len(comparison.values)}">{escape(group.name)}</th></tr>')
            for row in group.rows:
                cells = "".join(
                    f"<td>{escape(cell.text)}{' &#9733;' if cell.best else ' &#8776;' if cell.tied else ''}</td>"
                    for cell in row.cells
                )
                unit = f" ({row.unit})" if row.unit else ""
                rows.append(f"<tr><td>{escape(row.metric.name)}{escape(unit)}</td>{cells}</tr>")
        parts.append(f"<table><thead><tr><th></th>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>")
    parts += [f"<p><small>{escape(note)}</small></p>" for note in notes(results)]
    return "\n".join(parts)
