"""An experiment as people hold it: its tables, and its figures and its page where a notebook shows them."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from anabranch.base import places
from anabranch.results.tables import Tables

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.showing.plots import Plots


class Results(Tables):
    """An experiment's results: its tables, as `anabranch.results.tables.Tables` documents them, and its figures."""

    def _repr_html_(self) -> str:
        """What a notebook shows: what was found, and the summary."""
        return page(self)

    @cached_property
    def plot(self) -> Plots:
        """The report's figures as Altair charts: ``results.plot.fct_cdf()``."""
        from anabranch.showing.plots import Plots  # noqa: PLC0415 - Altair takes a second to load

        return Plots(self)


def load(folder: str | Path) -> Results:
    """Open the results of an experiment.

    Parameters
    ----------
    folder
        Folder that ``anabranch run FILE --out DIR`` wrote, or its URL in an object store.

    Returns
    -------
    Results
        Its tables; they are read when first asked for.

    Raises
    ------
    ResultError
        If the folder is missing, incomplete or not a result folder.
    """
    return Results(places.reached(folder))


def page(results: Tables) -> str:
    """An experiment as a notebook shows it: what was found, and the numbers of the summary.

    Returns
    -------
    str
        A piece of HTML without scripts.
    """
    # Imported here: who only reads tables needs no statistics.
    from markupsafe import escape  # noqa: PLC0415

    from anabranch.results import settings  # noqa: PLC0415
    from anabranch.results.comparison import compare, summarise  # noqa: PLC0415
    from anabranch.results.findings import findings  # noqa: PLC0415
    from anabranch.results.notes import notes  # noqa: PLC0415

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
