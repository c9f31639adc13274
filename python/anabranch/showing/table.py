"""The summary as a terminal table, and the same numbers as JSON."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group as Lines
from rich.table import Table
from rich.text import Text

from anabranch.base import units
from anabranch.results import paired, settings, stats
from anabranch.results.comparison import compare, summarise
from anabranch.results.findings import findings
from anabranch.results.notes import notes
from anabranch.showing.layout import Fitting, narrowing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.console import RenderableType

    from anabranch.results.comparison import Cell, Comparison, Group, Panel, Row
    from anabranch.results.tables import Tables

TERMINAL_METRICS = (
    "fct_mean_ns",
    "fct_p50_ns",
    "fct_p99_ns",
    "slowdown_p99",
    "goodput_mean_bps",
    "deadline_miss_rate",
    "timeout_share",
    "jain_index",
)
"""Rows that fit a terminal; the report has all."""


def render(results: Tables) -> RenderableType:
    """Lay out the summary for a terminal: what was found, then one table per panel.

    On a narrow terminal the series go to several tables below each other, and then each number to a line of its own:
    names and units are never cut. Of a sweep of many settings there is no table for each
    (`anabranch.results.settings`).

    The best of a row carries a star, a number that does not differ significantly from it a tilde, and a number from
    which unfinished flows are missing an exclamation mark: colour adds nothing.
    """
    comparison = compare(results)
    panels = summarise(results, comparison)
    parts: list[RenderableType] = [Text(sentence, style="bold") for sentence in findings(results)]
    shown = [panel for panel in panels if panel.groups]
    if len(shown) > settings.MANY:
        parts += _many(shown, comparison, results)
    elif shown:
        parts += [_fitting(panel, comparison) for panel in shown]
        parts.append(Text(_legend(panels, results), style="dim"))
    parts += [Text.assemble(("note: ", "bold"), note) for note in notes(results)]
    return Lines(*parts)


def _many(panels: Sequence[Panel], comparison: Comparison, results: Tables) -> list[RenderableType]:
    """What a sweep of many settings says in a few lines, and where the rest is."""
    parts: list[RenderableType] = []
    tallies = settings.tallies(panels, comparison)
    if tallies:
        columns = ("flows of", "", "", "best in", "~ in", "of", "at worst", "there")
        table = _plain(f"Over {len(panels)} settings", columns, right=("best in", "~ in", "of", "at worst"))
        before = None
        for tally in tallies:
            head = (tally.group, tally.metric.name)
            group = tally.group if before is None or before[0] != tally.group else ""
            name = tally.metric.name if before != head else ""
            numbers = (str(tally.best), str(tally.tied), str(tally.of), tally.times)
            where = comparison.words(tally.where)
            table.add_row(group, name, comparison.look(tally.value).label, *numbers, where)
            before = head
        parts += [
            narrowing(table),
            Text("best in: settings in which it is; ~ in: no significant difference from the best, seed by seed; "
                 "at worst: how many times the best's number, for goodput the best's over its own", style="dim"),
        ]  # fmt: skip
    heading, unit, lines = settings.lines(panels)
    if lines and len(lines) <= settings.LISTED:
        keys = list(lines[0].point)
        labels = [comparison.look(value).label for value in comparison.values]
        title = heading + (f" ({unit})" if unit else "")
        table = _plain(title, (*(comparison.names.get(key, key) for key in keys), *labels), right=labels)
        for line in lines:
            table.add_row(*(comparison.text(key, line.point[key]) for key in keys), *map(_cell, line.cells))
        parts += [narrowing(table), Text(_legend(panels, results), style="dim")]
    parts.append(
        Text.assemble(
            ("rest: ", "bold"),
            f"report.html has the charts; `anabranch report {shlex.quote(str(results.folder))} --csv FILE` writes "
            f"every number of the {len(panels)} settings",
        )
    )
    return parts


def _plain(title: str, columns: Sequence[str], *, right: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column, no_wrap=True, justify="right" if column in right else "left")
    return table


def _fitting(panel: Panel, comparison: Comparison) -> Fitting:
    series = len(comparison.values)

    def tables(at_a_time: int) -> Callable[[], list[RenderableType]]:
        starts = range(0, series, at_a_time)
        return lambda: [_table(panel, comparison, slice(start, start + at_a_time)) for start in starts]

    # One of several series in a table of its own compares nothing.
    counts = range(series, 1, -1) if series > 1 else (1,)
    return Fitting(*map(tables, counts), lambda: [_lines(panel, comparison)])


def _rows(group: Group) -> list[Row]:
    return [row for row in group.rows if row.metric.column in TERMINAL_METRICS]


def _table(panel: Panel, comparison: Comparison, shown: slice) -> Table:
    table = Table(
        title=panel.title or None, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False
    )
    table.add_column("flows of", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("", no_wrap=True)
    for value in comparison.values[shown]:
        table.add_column(comparison.look(value).label, justify="right", no_wrap=True)
    for group in panel.groups:
        rows = _rows(group)
        for place, row in enumerate(rows):
            name = Text(group.name, style="bold") if place == 0 else Text(_counts(group, place))
            cells = [_cell(cell) for cell in row.cells[shown]]
            table.add_row(name, row.metric.name, row.unit, *cells, end_section=place == len(rows) - 1)
    return table


def _lines(panel: Panel, comparison: Comparison) -> RenderableType:
    """Every number on a line of its own, below what it is a number of."""
    labels = [comparison.look(value).label for value in comparison.values]
    width = max(map(len, labels), default=0)
    lines: list[RenderableType] = [Text(panel.title, style="bold")] if panel.title else []
    for group in panel.groups:
        counts = [text for place in (1, 2) if (text := _counts(group, place).strip())]
        lines.append(Text(", ".join([group.name, *counts]), style="bold"))
        for row in _rows(group):
            lines.append(Text(f"  {row.metric.name}{f', {row.unit}' if row.unit else ''}"))
            numbers = [_cell(cell) for cell in row.cells]
            widest = max(map(len, numbers), default=0)
            for label, number in zip(labels, numbers, strict=True):
                number.pad_left(widest - len(number))
                lines.append(Text.assemble(f"    {label:<{width}}  ", number))
        lines.append(Text())
    return Lines(*lines)


def _counts(group: Group, place: int) -> str:
    """The number of flows below the bucket's name; of every series if they differ."""
    if place == 1:
        counts = [flows for flows in group.flows if flows]
        least, most = units.count(min(counts)), units.count(max(counts))
        return f"  {least if least == most else f'{least} to {most}'} flow{'' if most == '1' else 's'}"
    if place == 2 and any(group.unfinished):  # noqa: PLR2004 - third line of the group
        return f"  {sum(group.unfinished)} unfinished"
    return ""


def _cell(cell: Cell) -> Text:
    mark = "*" if cell.best else "~" if cell.tied else "!" if cell.unfinished else " "
    return Text(f"{cell.text} {mark}", style="bold" if cell.best else "")


def _legend(panels: Sequence[Panel], results: Tables) -> str:
    cells = [cell for panel in panels for group in panel.groups for row in group.rows for cell in row.cells]
    seeds = len(results.manifest.seeds)
    parts = []
    if any(cell.ci is not None for cell in cells):
        parts.append(f"mean over {seeds} seeds ± {stats.CONFIDENCE:.0%} confidence interval (Student's t)")
    if seeds > 1 and any(cell.value is not None and cell.ci is None for cell in cells):
        parts.append("without ±: no interval, since all runs gave the same number or there is one")
    if any(cell.value is not None and cell.samples < cell.seeds for cell in cells):
        parts.append("(N runs): so many different runs among the seeds, the others are identical")
    if any(cell.best for cell in cells):
        parts.append("* best of the row")
    if any(cell.tied for cell in cells):
        parts.append(f"~ no significant difference{paired.over(len(panels))}")
    if any(cell.unfinished for cell in cells):
        parts.append("! unfinished flows are missing from the number")
    return "; ".join(parts)


def as_json(results: Tables) -> dict[str, Any]:
    """Return the summary's numbers, the runs and the reservations as JSON values.

    Returns
    -------
    dict[str, Any]
        ``folder``, ``version``, ``scenario_file``, ``command``, ``confidence``, ``runs`` (name, point, seed, status,
        message, fingerprint), ``findings`` (sentences), ``fct`` (rows of `stats.fct_table`),
        ``background`` (rows of `stats.background_table`),
        ``layers`` (rows of `stats.layer_table`) and ``notes``.
    """
    manifest = results.manifest
    return {
        "folder": str(results.folder),
        "version": manifest.version,
        "scenario_file": manifest.scenario_file,
        "command": list(manifest.command),
        "confidence": stats.CONFIDENCE,
        "runs": [
            {
                "run": run.run,
                "point": dict(run.point),
                "transport": run.transport,
                "seed": run.seed,
                "status": run.status,
                "message": run.message,
                "fingerprint": run.fingerprint,
            }
            for run in manifest.runs
        ],
        "findings": findings(results),
        "fct": stats.fct_table(results).to_dicts(),
        "background": stats.background_table(results).to_dicts(),
        "layers": stats.layer_table(results).to_dicts(),
        "notes": notes(results),
    }
