"""A sweep of many settings in a few lines: which series value is best where, and one number for each setting.

A table for each of 300 settings is nothing that a person reads. Table, report and notebook show what is here instead;
the rest of the numbers is in the CSV of ``anabranch report DIR --csv FILE``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from anabranch.results import paired, stats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.results.comparison import Cell, Comparison, Metric, Panel, Row

MANY = 8
"""Settings from which on there is no table for each of them."""

LISTED = 40
"""Settings that are listed with a number for each series value."""

TALLIED = ("fct_p99_ns", "slowdown_p99", "goodput_min_bps", "deadline_miss_rate", "timeout_share")
"""Metrics that are told by how often each series value is best."""

ONE_NUMBER = (("all sizes", "slowdown_p99"), ("background flows", "goodput_mean_bps"))
"""What a setting is listed with: the first of these that there is."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How a series value does over all settings.

    Attributes
    ----------
    group
        Bucket of the flows.
    metric
        What is counted.
    value
        The series value.
    best, tied, of
        Settings in which it is the best, in which it does not differ significantly from the best, and in which it has
        a number.
    worst, where
        How many times the best's number it has at worst, and in which setting; None where nothing can be divided.
    """

    group: str
    metric: Metric
    value: Any
    best: int
    tied: int
    of: int
    worst: float | None
    where: Mapping[str, Any]

    @property
    def times(self) -> str:
        """The worst ratio in words."""
        return "–" if self.worst is None else f"{paired.short(self.worst)} times"


@dataclass(frozen=True, slots=True)
class Line:
    """A setting with one number for each series value."""

    point: Mapping[str, Any]
    cells: tuple[Cell, ...]


def tallies(panels: Sequence[Panel], comparison: Comparison) -> list[Tally]:
    """Count for each bucket and metric how often each series value is best; empty if only one is compared."""
    if len(comparison.values) < 2:  # noqa: PLR2004 - nothing to compare
        return []
    found: dict[tuple[str, str], list[tuple[Mapping[str, Any], Row]]] = {}
    for panel in panels:
        for group in panel.groups:
            for row in group.rows:
                if row.metric.column in TALLIED:
                    found.setdefault((group.name, row.metric.column), []).append((panel.point, row))
    named = {group for group, _ in found} - {"background flows"}
    if len(named) == 2:  # noqa: PLR2004 - one bucket, and all sizes, which are the same flows
        found = {key: rows for key, rows in found.items() if key[0] != stats.BUCKETS[-1].label}
    order = [*(bucket.label for bucket in stats.BUCKETS), "background flows"]
    return [
        _tally(group, rows, place, value)
        for (group, _), rows in sorted(
            found.items(), key=lambda item: (order.index(item[0][0]), TALLIED.index(item[0][1]))
        )
        for place, value in enumerate(comparison.values)
    ]


def _tally(group: str, rows: Sequence[tuple[Mapping[str, Any], Row]], place: int, value: object) -> Tally:
    metric = rows[0][1].metric
    cells = [row.cells[place] for _, row in rows]
    worst: tuple[float, Mapping[str, Any]] | None = None
    for point, row in rows:
        own, best = row.cells[place], next((cell for cell in row.cells if cell.best), None)
        if own.unfinished or not own.value or best is None or not best.value:
            continue
        times = own.value / best.value if metric.less else best.value / own.value
        if worst is None or times > worst[0]:
            worst = (times, point)
    return Tally(
        group=group,
        metric=metric,
        value=value,
        best=sum(cell.best for cell in cells),
        tied=sum(cell.tied for cell in cells),
        of=sum(cell.value is not None for cell in cells),
        worst=None if worst is None else worst[0],
        where={} if worst is None else worst[1],
    )


def lines(panels: Sequence[Panel]) -> tuple[str, str, list[Line]]:
    """List the settings with one number each.

    Returns
    -------
    tuple[str, str, list[Line]]
        What the numbers are, their unit (``""`` for a ratio; each line of a rate or time may have its own, which its
        text then tells), and the lines; none if no setting has such a number.
    """
    for name, column in ONE_NUMBER:
        found = [
            (panel.point, row)
            for panel in panels
            for group in panel.groups
            if group.name == name
            for row in group.rows
            if row.metric.column == column and any(cell.value is not None for cell in row.cells)
        ]
        if found:
            heading = f"{found[0][1].metric.name}, {name}"
            same = {row.unit for _, row in found}
            if len(same) == 1:
                return heading, next(iter(same)), [Line(point, row.cells) for point, row in found]
            return heading, "", [Line({**point, "unit": row.unit}, row.cells) for point, row in found]
    return "", "", []
