"""The page: gathers what the template shows, and writes it by rename."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import shlex
import tomllib
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import polars as pl
import vl_convert
from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from anabranch.base import cache, targets, units
from anabranch.base.fabric import LEVELS, level_names
from anabranch.base.styles import symbol
from anabranch.results import settings, stats
from anabranch.results.comparison import compare, summarise
from anabranch.results.findings import findings
from anabranch.results.notes import STATUS, notes
from anabranch.showing.axes import CONFIG, unchecked
from anabranch.showing.report import along
from anabranch.showing.report.by_size import by_size
from anabranch.showing.report.charts import Charts
from anabranch.showing.report.drawing import STEPS, draw
from anabranch.showing.report.multiples import multiples, with_samples
from anabranch.showing.report.over_time import MOST_NUMBERS, OFFERED, Choice, over_time
from anabranch.showing.report.ranks import MOST_PARTS, timelines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from anabranch.results.comparison import Cell, Comparison, Panel
    from anabranch.results.tables import Tables
    from anabranch.showing.report.charts import Chart

ENTRY = "window.vegaEmbed = vegaEmbed;"
"""What a page needs of the library that draws charts."""

MOST_PANELS = 24
"""Sweep points of an experiment in which each has a table and charts of its own."""

SOME_PANELS = 8
"""Sweep points that have them where there are more."""

MOST_ROWS = 200
"""Rows of a table that may have one for each run or setting."""

MOST_OVER_TIME = 6
"""Sweep points of which the time series are drawn: they are what takes most room."""


def write(results: Tables, choice: Choice | None = None) -> Path:
    """Write ``report.html`` into the result folder, by rename.

    Parameters
    ----------
    results
        An experiment.
    choice
        Links and sessions whose time series are shown; default: as `anabranch.showing.report.over_time` chooses.

    Returns
    -------
    pathlib.Path
        The file.
    """
    path = results.folder / "report.html"
    targets.put(path, html(results, choice))
    return path


@unchecked()
def html(results: Tables, choice: Choice | None = None) -> str:
    """Make the report of an experiment; parameters as of `write`.

    Returns
    -------
    str
        One HTML document without references to anything outside itself.
    """
    comparison = compare(results)
    specs: list[Mapping[str, Any]] = []
    charts = Charts(results, comparison)
    summary = summarise(results, comparison)
    table = stats.fct_table(results, by=[comparison.series, *comparison.panel_keys])
    sections = _along(along.sections(charts, table, summary), specs)
    panels = _panels(charts, table, summary, specs, choice)
    drawing = draw(results, comparison)
    loads = stats.load_table(results)
    layers = _layers(results, comparison)
    runs = results.runs
    templates = environment()
    templates.filters["enumerated"] = _enumerated
    manifest = results.manifest
    scenario = _scenario(manifest.scenario_toml)
    return templates.get_template("report.html.j2").render(
        title=scenario.get("description") or scenario.get("name") or manifest.scenario_file,
        question=_question(manifest.scenario_toml),
        manifest=manifest,
        command=shlex.join(manifest.command),
        facts=_facts(results, comparison, scenario, loads),
        looks=[comparison.look(value) for value in comparison.values],
        panels=panels,
        settings=len(summary),
        several=len(along.axes(comparison)) > 1,
        listed=_listed(summary, comparison),
        along=sections,
        along_keys=" and ".join(axis.name for axis in along.axes(comparison)),
        drawing=drawing,
        steps=STEPS,
        layers=layers[:MOST_ROWS],
        pauses=any(row["pause_frames"] for row in layers),
        more_layers=max(0, len(layers) - MOST_ROWS),
        windowed=bool(layers) and all(row["utilisation_window"] is not None for row in layers) and not loads.is_empty(),
        loads=_loads(loads, comparison),
        # Those that did not complete are always there.
        runs=(shown := _shown_runs(runs)),
        more_runs=runs.height - len(shown),
        run_keys=[key for key in results.keys if key != "transport"],
        names=comparison.names,
        folder=shlex.quote(str(results.folder)),
        statuses=STATUS,
        findings=findings(results),
        notes=notes(results),
        seeds=len(manifest.seeds),
        confidence=f"{stats.CONFIDENCE:.0%}",
        css=Markup(asset("report.css")),  # noqa: S704 - our own file
        js=Markup(asset("over_time.js") + asset("report.js")),  # noqa: S704
        vega=vega(),
        specs=script_json(specs),
        fabric_data=script_json(drawing.data if drawing else None),
    )


def _panels(
    charts: Charts,
    table: pl.DataFrame,
    summary: Sequence[Panel],
    specs: list[Mapping[str, Any]],
    choice: Choice | None,
) -> list[dict[str, Any]]:
    """What is shown of each setting; of very many, the first."""
    panels = []
    shown = summary if len(summary) <= MOST_PANELS else summary[:SOME_PANELS]
    timed = min(MOST_OVER_TIME, len(shown))
    for place, panel in enumerate(shown):
        charted = bool(panel.groups)
        panels.append(
            {
                "title": panel.title,
                "groups": panel.groups,
                "columns": 1 + len(charts.comparison.values),
                "fct": _place(charts.fct(panel.point), specs) if charted else [],
                "slowdown": _place(charts.slowdown(panel.point, table), specs) if charted else [],
                "by_size": _place(by_size(charts, panel.point), specs) if charted else [],
                "goodput": _place(charts.goodput(panel.point), specs) if charted else [],
                "ranks": _appended(timelines(charts, panel.point, MOST_PARTS // timed), specs)
                if place < timed
                else None,
                "over_time": _over_time(charts, panel, specs, choice, timed) if place < timed else None,
                "controlled": _place(charts.controlled(panel.point), specs) if charted else [],
                "settings": _place(charts.settings(panel.point), specs) if charted else [],
                "same": any(cell.value is not None and cell.samples < cell.seeds for cell in _cells(panel)),
                "bare": any(cell.value is not None and cell.ci is None for cell in _cells(panel)),
                "tied": _any(panel, "tied"),
                "best": _any(panel, "best"),
                "unfinished": _any(panel, "unfinished"),
                "deadlines": _has(panel, "deadline_miss_rate"),
                "timeouts": _has(panel, "timeout_share"),
            }
        )
    return panels


def _has(panel: Panel, column: str) -> bool:
    return any(row.metric.column == column for group in panel.groups for row in group.rows)


def _over_time(
    charts: Charts, panel: Panel, specs: list[Mapping[str, Any]], choice: Choice | None, panels: int
) -> int | None:
    """Number of the specification of what was measured over time; None if nothing was."""
    comparison = charts.comparison
    most = MOST_NUMBERS // panels
    found = over_time(charts.results, comparison, panel.point, choice, offered=OFFERED, most=most)
    if found is None:
        return None
    spec = multiples(found, [comparison.look(value) for value in comparison.values], CONFIG)
    return _appended(with_samples(found, spec), specs)


def _appended(spec: Mapping[str, Any] | None, specs: list[Mapping[str, Any]]) -> int | None:
    """Number of a specification in the page's list; None if there is none."""
    if spec is None:
        return None
    specs.append(spec)
    return len(specs) - 1


def _any(panel: Panel, attribute: str) -> bool:
    return any(getattr(cell, attribute) for cell in _cells(panel))


def _cells(panel: Panel) -> Iterator[Cell]:
    return (cell for group in panel.groups for row in group.rows for cell in row.cells)


def _place(charts: list[Chart], specs: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Move the specifications to the page's one list; a chart keeps its number in it."""
    placed = []
    for chart in charts:
        placed.append({"heading": chart.heading, "caption": chart.caption, "spec": len(specs)})
        specs.append(chart.spec)
    return placed


def _along(sections: Sequence[along.Section], specs: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The charts along the sweep keys."""
    return [
        {"heading": one.heading, "key": one.key, "open": one.open, "charts": _place(list(one.charts), specs)}
        for one in sections
        if one.charts
    ]


def _listed(summary: Sequence[Panel], comparison: Comparison) -> dict[str, Any] | None:
    """A line for each setting, where there are several."""
    heading, unit, lines = settings.lines(summary)
    if len(summary) < 2 or not lines:  # noqa: PLR2004 - one setting has its table
        return None
    keys = list(lines[0].point)
    rows = [([comparison.text(key, line.point[key]) for key in keys], line.cells) for line in lines[:MOST_ROWS]]
    names = [comparison.names.get(key, key) for key in keys]
    return {"heading": heading, "unit": unit, "keys": names, "rows": rows, "more": len(lines) - len(rows)}


def _enumerated(views: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """The runs that the fabric can be coloured by: number, series value, and both with the setting."""
    return [
        {"place": place, "look": look, "text": ", ".join(part for part in (look, point) if part)}
        for place, (look, point) in enumerate(views)
    ]


def _shown_runs(runs: pl.DataFrame) -> list[dict[str, Any]]:
    """The runs that are listed: those that did not complete, and the first of the others."""
    bad = runs.filter(runs["status"] != "complete").head(MOST_ROWS)
    good = runs.filter(runs["status"] == "complete").head(MOST_ROWS - bad.height)
    names = {*bad["run"].to_list(), *good["run"].to_list()}
    return [row for row in runs.to_dicts() if row["run"] in names]


def _layers(results: Tables, comparison: Comparison) -> list[dict[str, Any]]:
    """The layer table, one part per panel; layers are called as their nodes are."""
    keys = [key for key in comparison.panel_keys if key != "workload"]
    frame = stats.layer_table(results, by=[comparison.series, *keys])
    named = results.collect("links", results.scan("links").select("src_level", "src").unique(maintain_order=True))
    names = level_names(named.iter_rows())
    rows = []
    for row in frame.to_dicts():
        point = comparison.words({key: row[key] for key in keys})
        ends = {end: names.get(row[end], row[end]) for end in ("src_level", "dst_level")}
        rows.append({**row, **ends, "look": comparison.look(row[comparison.series]), "point": point})
    return rows


def _loads(loads: pl.DataFrame, comparison: Comparison) -> str:
    """What was asked for in the measured window beside what was sent in it, and why the two differ."""
    if loads.is_empty():
        return ""
    parts = []
    for value in comparison.values:
        rows = loads.filter(pl.col(comparison.series).eq_missing(pl.lit(value)))
        if not rows.is_empty():
            offered, carried = (_range((100 * rows[name]).to_list()) for name in ("offered", "carried"))
            parts.append(f"{comparison.look(value).label}: {offered} % asked for, {carried} % sent")
    return (
        f"Of what the hosts' links carry in the measured window, {'; '.join(parts)}. Asked for: the payload of all "
        "objects that were requested in the window, whenever they were delivered. Sent: the share of the window during "
        "which the hosts' own links were sending, headers and repetitions included. Less is sent than was asked for "
        "where large objects are still under way when the window ends: they drain after it. More is sent where packets "
        "are repeated."
    )


def _range(numbers: Sequence[float]) -> str:
    low, high = units.digits(min(numbers)), units.digits(max(numbers))
    return low if low == high else f"{low} to {high}"


def _facts(
    results: Tables, comparison: Comparison, scenario: Mapping[str, Any], loads: pl.DataFrame
) -> list[tuple[str, str]]:
    """What was run, as pairs of name and text."""
    manifest = results.manifest
    fabric = results.fabric
    counts = {level: sum(node.level == level for node in fabric.nodes) for level in LEVELS}
    names = fabric.level_names()
    switches = ", ".join(f"{n} {names[level]}" for level, n in counts.items() if n and level != "host")
    kinds = sorted({(link.rate_bps, link.delay_ns) for link in fabric.links}, reverse=True)
    links = "; ".join(f"{units.rate(rate)}, {units.time(delay)}" for rate, delay in kinds[:4])
    facts = [
        ("Hosts", str(fabric.hosts)),
        ("Switches", f"{fabric.switches} ({switches})" if switches else "none"),
        ("Links", f"{len(fabric.links)}, each way {links}" + (" and others" if len(kinds) > 4 else "")),  # noqa: PLR2004
        ("Compared", ", ".join(comparison.look(value).label for value in comparison.values)),
    ]
    facts += [(f"Sweep: {key}", _swept(key, values, comparison)) for key, values in manifest.sweep.items()]
    workloads = scenario.get("workload")
    for place, workload in enumerate(workloads if isinstance(workloads, list) else [workloads] if workloads else []):
        if isinstance(workload, dict):
            name = workload.get("name") or place + 1
            facts.append((f"Workload {name}", _words({k: v for k, v in workload.items() if k != "name"})))
    if loads.height:
        facts.append(("Offered load", _offered(loads)))
    if manifest.overrides:
        facts.append(("Changed on the command line", ", ".join(manifest.overrides)))
    facts.append(("Seeds", ", ".join(map(str, manifest.seeds))))
    facts.append(("Runs", f"{len(manifest.runs)}, {sum(run.complete for run in manifest.runs)} complete"))
    return facts


def _swept(key: str, values: Sequence[Any], comparison: Comparison) -> str:
    """The values of a sweep key as they are called elsewhere on the page."""
    return ", ".join(comparison.text(key, value if isinstance(value, str) else json.dumps(value)) for value in values)


def _offered(loads: pl.DataFrame) -> str:
    """What hosts were asked to send, over what their links carry, what they sent of it, and for how long."""
    offered, carried = (_range((100 * loads[name]).to_list()) for name in ("offered", "carried"))
    window = _range((1e3 * loads["window_s"]).to_list())
    return (
        f"{offered} % of what the hosts' links carry, by payload, in a measured window of {window} ms; in it these "
        f"links sent for {carried} % of the time, headers included"
    )


def _words(table: Mapping[str, Any]) -> str:
    """Write a TOML table in one line."""
    parts = []
    for key, value in table.items():
        text = "{" + _words(value) + "}" if isinstance(value, dict) else str(value)
        parts.append(f"{key} = {text}")
    return ", ".join(parts)


def _scenario(text: str) -> Mapping[str, Any]:
    """Read the scenario for its title and workloads; the report shows its text either way."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return {}


def _question(text: str) -> str:
    r"""Read the question that a scenario begins with, by custom: a comment ``# Question: ...``; empty if there is none.

    Examples
    --------
    >>> _question("# Question: which is\n# faster?\n#\n# Notes.\nname = 'a'")
    'Which is faster?'
    """
    lines = []
    for line in text.splitlines():
        words = line.removeprefix("#").strip()
        if not line.startswith("#") or not words:
            break
        lines.append(words)
    found, _, question = " ".join(lines).partition("Question:")
    question = question.strip()
    return "" if found else question[:1].upper() + question[1:]


def environment(*packages: str) -> Environment:
    """Make an environment of the templates of these packages of `anabranch`, beside those of reports."""
    loaders = [PackageLoader(f"anabranch.{name}", "assets") for name in (*packages, "showing.report")]
    made = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals.update(units=units, symbol=symbol)
    return made


def asset(name: str, *, package: str = "anabranch.showing.report") -> str:
    """Read a file of a package's assets."""
    return files(package).joinpath("assets", name).read_text(encoding="utf-8")


def in_script(code: str) -> str:
    """Make code safe inside a script element: only its end tag could close it."""
    return re.sub(r"</(script)", r"<\\/\1", code, flags=re.IGNORECASE)


@functools.cache
def vega() -> Markup:
    """The library that draws charts. To bundle it takes more than a second, so it is kept for later processes."""
    try:
        name = f"vega-{hashlib.sha256(ENTRY.encode()).hexdigest()[:8]}-{version('vl-convert-python')}.js"
    except PackageNotFoundError:  # a program that was frozen without it
        return Markup(in_script(vl_convert.javascript_bundle(ENTRY)))  # noqa: S704 - no input in it
    kept = cache.read(name)
    if kept is None:
        kept = vl_convert.javascript_bundle(ENTRY).encode()
        cache.write(name, kept)
    return Markup(in_script(kept.decode()))  # noqa: S704 - as above


def script_json(value: object) -> Markup:
    """JSON that is safe inside a script element: no ``<`` can begin a tag."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704
