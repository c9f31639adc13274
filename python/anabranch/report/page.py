"""The page: gathers what the template shows, and writes it by rename."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from anabranch import outputs, stats, units
from anabranch.comparison import compare, summarise
from anabranch.fabric import LEVELS
from anabranch.findings import findings
from anabranch.notes import STATUS, notes
from anabranch.report.charts import CONFIG, Charts
from anabranch.report.drawing import STEPS, draw
from anabranch.report.multiples import multiples
from anabranch.report.over_time import over_time
from anabranch.styles import symbol

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import polars as pl

    from anabranch.comparison import Cell, Comparison, Panel
    from anabranch.report.charts import Chart
    from anabranch.results import Results

MOST_PANELS = 24
"""Sweep points with charts of their own; the others keep their table."""

MOST_OVER_TIME = 6
"""Sweep points of which the time series are drawn: they are what takes most room."""


def write(results: Results) -> Path:
    """Write ``report.html`` into the result folder, by rename.

    Returns
    -------
    pathlib.Path
        The file.
    """
    path = results.folder / "report.html"
    outputs.put(path, html(results))
    return path


def html(results: Results) -> str:
    """Make the report of an experiment.

    Returns
    -------
    str
        One HTML document without references to anything outside itself.
    """
    comparison = compare(results)
    specs: list[Mapping[str, Any]] = []
    panels = _panels(results, comparison, specs)
    drawing = draw(results, comparison)
    environment = Environment(
        loader=PackageLoader("anabranch.report", "assets"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(units=units, symbol=symbol)
    manifest = results.manifest
    scenario = _scenario(manifest.scenario_toml)
    return environment.get_template("report.html.j2").render(
        title=scenario.get("description") or scenario.get("name") or manifest.scenario_file,
        question=_question(manifest.scenario_toml),
        manifest=manifest,
        command=shlex.join(manifest.command),
        facts=_facts(results, comparison, scenario),
        looks=[comparison.look(value) for value in comparison.values],
        panels=panels,
        sweep=_sweep(results, comparison, specs),
        drawing=drawing,
        steps=STEPS,
        layers=(layers := _layers(results, comparison)),
        windowed=bool(layers)
        and all(row["utilisation_window"] is not None for row in layers)
        and not stats.load_table(results).is_empty(),
        runs=results.runs.to_dicts(),
        run_keys=[key for key in results.keys if key != "transport"],
        statuses=STATUS,
        findings=findings(results),
        notes=notes(results),
        seeds=len(manifest.seeds),
        confidence=f"{stats.CONFIDENCE:.0%}",
        css=Markup(asset("report.css")),  # noqa: S704 - our own file
        js=Markup(asset("report.js")),  # noqa: S704
        vega=Markup(in_script(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))),  # noqa: S704
        specs=script_json(specs),
        fabric_data=script_json(drawing.data if drawing else None),
    )


def _panels(results: Results, comparison: Comparison, specs: list[Mapping[str, Any]]) -> list[dict[str, Any]]:
    charts = Charts(results, comparison)
    table = stats.fct_table(results, by=[comparison.series, *comparison.panel_keys])
    panels = []
    for place, panel in enumerate(summarise(results, comparison)):
        charted = place < MOST_PANELS and bool(panel.groups)
        panels.append(
            {
                "title": panel.title,
                "groups": panel.groups,
                "columns": 1 + len(comparison.values),
                "fct": _place(charts.fct(panel.point), specs) if charted else [],
                "slowdown": _place(charts.slowdown(panel.point, table), specs) if charted else [],
                "goodput": _place(charts.goodput(panel.point), specs) if charted else [],
                "over_time": _over_time(results, comparison, panel, specs) if place < MOST_OVER_TIME else None,
                "controlled": _place(charts.controlled(panel.point), specs) if charted else [],
                "settings": _place(charts.settings(panel.point), specs) if charted else [],
                "same": any(cell.value is not None and cell.samples < cell.seeds for cell in _cells(panel)),
                "tied": _any(panel, "tied"),
                "best": _any(panel, "best"),
                "unfinished": _any(panel, "unfinished"),
                "deadlines": any(row.metric.kind == "share" for group in panel.groups for row in group.rows),
            }
        )
    return panels


def _over_time(results: Results, comparison: Comparison, panel: Panel, specs: list[Mapping[str, Any]]) -> int | None:
    """Number of the specification of what was measured over time; None if nothing was."""
    found = over_time(results, comparison, panel.point)
    if found is None:
        return None
    specs.append(multiples(found, [comparison.look(value) for value in comparison.values], CONFIG))
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


def _sweep(results: Results, comparison: Comparison, specs: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Charts along a sweep key, where exactly one varies beside the series."""
    if len(comparison.panel_keys) != 1 or comparison.panel_keys[0] == "workload":
        return None
    key = comparison.panel_keys[0]
    table = stats.fct_table(results, by=[comparison.series, key])
    charts = Charts(results, comparison).sweep(key, [point[key] for point in comparison.panels], table)
    return {"key": key, "charts": _place(charts, specs)} if charts else None


def _layers(results: Results, comparison: Comparison) -> list[dict[str, Any]]:
    """The layer table, one part per panel."""
    keys = [key for key in comparison.panel_keys if key != "workload"]
    frame = stats.layer_table(results, by=[comparison.series, *keys])
    rows = []
    for row in frame.to_dicts():
        point = ", ".join(f"{key} = {row[key]}" for key in keys)
        rows.append({**row, "look": comparison.look(row[comparison.series]), "point": point})
    return rows


def _facts(results: Results, comparison: Comparison, scenario: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was run, as pairs of name and text."""
    manifest = results.manifest
    fabric = results.fabric
    counts = {level: sum(node.level == level for node in fabric.nodes) for level in LEVELS}
    switches = ", ".join(f"{n} {level}" for level, n in counts.items() if n and level != "host")
    kinds = sorted({(link.rate_bps, link.delay_ns) for link in fabric.links}, reverse=True)
    links = "; ".join(f"{units.rate(rate)}, {units.time(delay)}" for rate, delay in kinds[:4])
    facts = [
        ("Hosts", str(fabric.hosts)),
        ("Switches", f"{fabric.switches} ({switches})" if switches else "none"),
        ("Links", f"{len(fabric.links)}, each way {links}" + (" and others" if len(kinds) > 4 else "")),  # noqa: PLR2004
        ("Compared", ", ".join(comparison.look(value).label for value in comparison.values)),
    ]
    facts += [
        (f"Sweep: {key}", ", ".join(map(str, values))) for key, values in manifest.sweep.items() if len(values) > 1
    ]
    workloads = scenario.get("workload")
    for place, workload in enumerate(workloads if isinstance(workloads, list) else [workloads] if workloads else []):
        if isinstance(workload, dict):
            name = workload.get("name") or place + 1
            facts.append((f"Workload {name}", _words({k: v for k, v in workload.items() if k != "name"})))
    loads = stats.load_table(results)
    if loads.height:
        facts.append(("Offered load", _offered(loads)))
    if manifest.overrides:
        facts.append(("Changed on the command line", ", ".join(manifest.overrides)))
    facts.append(("Seeds", ", ".join(map(str, manifest.seeds))))
    facts.append(("Runs", f"{len(manifest.runs)}, {sum(run.complete for run in manifest.runs)} complete"))
    return facts


def _offered(loads: pl.DataFrame) -> str:
    """What hosts were asked to send, over what their links carry, and for how long."""
    parts = []
    for column, scale, unit in (("offered", 0.01, "% of what the hosts' links carry"), ("window_s", 1e-3, "ms")):
        values = (loads[column] / scale).to_list()
        low, high = units.digits(min(values)), units.digits(max(values))
        parts.append(f"{low} {unit}" if low == high else f"{low} to {high} {unit}")
    return f"{parts[0]}, by payload, in a measured window of {parts[1]}"


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


def asset(name: str, *, package: str = "anabranch.report") -> str:
    """Read a file of a package's assets."""
    return files(package).joinpath("assets", name).read_text(encoding="utf-8")


def in_script(code: str) -> str:
    """Make code safe inside a script element: only its end tag could close it."""
    return re.sub(r"</(script)", r"<\\/\1", code, flags=re.IGNORECASE)


def script_json(value: object) -> Markup:
    """JSON that is safe inside a script element: no ``<`` can begin a tag."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c"))  # noqa: S704
