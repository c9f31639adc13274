"""The page of a study, as Markdown: its experiments have no claims of a paper, so it shows what their figures show.

A table for each panel: a row for each series, a column for each place of the horizontal axis.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anabranch.reproduce.comparison import facts
from anabranch.reproduce.decisions import decisions, origins
from anabranch.reproduce.sections import SEVERAL
from anabranch.reproduce.tables import grid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.reproduce.model import Experiment
    from anabranch.reproduce.record import Record

COLUMNS = 12
"""More places than these are a curve, not a table."""


def markdown(experiments: Sequence[Experiment], records: Mapping[str, Record], old: Mapping[str, str]) -> str:
    """Write how to read the tables, then the experiments by section.

    Parameters
    ----------
    experiments, records
        Those of the study.
    old
        The experiments whose records are older than the model, with what they are older than.
    """
    blocks = [SEVERAL] if any(len(records[one.name].seeds) > 1 for one in experiments if one.name in records) else []
    section = ""
    for one in experiments:
        if one.name not in records:
            continue
        if one.section != section:
            section = one.section
            blocks.append(f"### {section}")
        record = records[one.name]
        seeds = f"{len(record.seeds)} seeds" if len(record.seeds) > 1 else "1 seed"
        size = "quick size" if record.quick else one.size
        age = ", older than the model" if one.name in old else ""
        blocks += [f"#### {one.title}", f"{one.question} (`{one.name}`, {size}, {seeds}{age})", *tables(record)]
    decided = decisions(experiments, records, facts(experiments, records), "Remarks")
    if not blocks:
        return "Nothing has been recorded yet."
    return "\n\n".join([*blocks, *filter(None, [decided]), *origins(experiments, records, old)])


def tables(record: Record) -> list[str]:
    r"""A table for each panel of a record's figures, with its caption above it.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> series = {"ring": {"x": [8, 64], "y": [1.07, 1.2], "high": [1.1, 1.2]}, "tree": {"x": [8], "y": [2]}}
    >>> panel = {"panel": "a", "caption": "Idle", "x_title": "ranks", "y_title": "time (ms)", "series": series}
    >>> print(*tables(SimpleNamespace(figures=[{"figure": "f", "panels": [panel]}])), sep="\n")
    **Idle**: time (ms)
    | ranks | 8 | 64 |
    |---|---|---|
    | ring | 1.07 ± 0.03 | 1.2 |
    | tree | 2 |  |
    """
    found = []
    for figure in record.figures:
        for panel in figure["panels"]:
            places = list(dict.fromkeys(x for series in panel["series"].values() for x in series.get("x", ())))
            if not places or len(places) > COLUMNS:
                continue
            lines = [(name, *(_cell(series, place) for place in places)) for name, series in panel["series"].items()]
            heads = (panel.get("x_title") or "", *map(_number, places))
            caption = panel.get("caption", "")
            found.append(": ".join(filter(None, (f"**{caption}**" if caption else "", panel.get("y_title", "")))))
            found.append(grid(heads, *lines))
    return found


def _cell(series: Mapping[str, Sequence[Any]], place: object) -> str:
    """The value of a series at a place, with half of its interval."""
    if place not in series["x"]:
        return ""
    at = list(series["x"]).index(place)
    value, high = series["y"][at], series.get("high", ())
    said = "–" if value is None else _number(value)
    if at < len(high) and high[at] is not None and value is not None and high[at] > value:
        said += f" ± {_number(float(f'{high[at] - value:.2g}'))}"
    return said


def _number(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
