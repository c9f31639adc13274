"""The pages: a report for each experiment, and an index over all that were run."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from anabranch.base import targets
from anabranch.reproduce import comparison, ranking, record, verdicts
from anabranch.reproduce.registry import of_paper, papers
from anabranch.results.notes import notes
from anabranch.showing.figures import html, published
from anabranch.showing.report.page import asset, environment, script_json, vega

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from jinja2 import Template

    from anabranch.reproduce.model import Experiment
    from anabranch.reproduce.record import Record
    from anabranch.reproduce.runner import Outcome
    from anabranch.showing.figures import Figure

KEYS = {
    "curves": "Mean over seeds.",
    "steps": "Distribution over all seeds.",
    "means": "Mean over seeds; bars: 95 % confidence interval (Student’s t), cut at zero.",
    "bars": "Mean over seeds; lines: 95 % confidence interval (Student’s t), cut at zero.",
    "stacked": "Mean over seeds.",
}
"""What a kind of panel shows, for the reader."""
QUICK = (
    "The quick size: a smaller fabric, fewer sessions and seeds than the paper’s. The shape can be compared with the "
    "paper’s figure, the numbers cannot."
)


def prose(text: str) -> Markup:
    """Turn Markdown of our own definitions into HTML; HTML in it stays text."""
    return Markup(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))  # noqa: S704 - HTML is escaped


def _template(name: str) -> Template:
    made = environment("reproduce", "showing.figures").get_template(name)
    css = Markup(asset("report.css") + asset("reproduce.css", package="anabranch.reproduce"))  # noqa: S704 - ours
    made.globals.update(prose=prose, css=css)
    return made


def write(outcome: Outcome) -> Path:
    """Write ``report.html`` of an experiment, one file without references to anything but its own folder."""
    job, results, figures = outcome.job, outcome.results, outcome.figures
    experiment, manifest = job.experiment, results.manifest
    specs: list[Mapping[str, Any]] = []
    rows = comparison.rows([experiment], {experiment.name: outcome.record})
    paper = next(one for one in papers() if one.name == experiment.paper)
    text = _template("experiment.html.j2").render(
        experiment=experiment,
        brand=paper.short,
        where=_where(experiment, paper.reference),
        figures=[html.place(figure, specs, key=_key(figure, seeds=len(manifest.seeds))) for figure in figures],
        rows=rows,
        ranking=ranking.section(experiment, outcome.record) if experiment.ranking else "",
        answer="" if job.quick else " ".join(verdicts.summary(rows)),
        decisions=comparison.told(experiment),
        notes=[] if experiment.calculate else [*([QUICK] if job.quick else []), *notes(results)],
        manifest=manifest,
        facts=_facts(outcome),
        command=shlex.join(manifest.command),
        specs=script_json(specs),
        vega=vega(),
        js=Markup(asset("report.js")),  # noqa: S704 - our own file
    )
    file = job.folder / "report.html"
    targets.put(file, text)
    return file


def _where(experiment: Experiment, reference: str) -> str:
    """Where an experiment was published: reference, section, figures."""
    numbers = [number for number in experiment.figures if published(number)]
    figures = f"Figure{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}" if numbers else ""
    return ", ".join(part for part in (reference, experiment.section, figures) if part)


def _key(figure: Figure, *, seeds: int) -> str:
    """What a figure shows, for the reader."""
    if seeds <= 1:
        return "One seed." if seeds else ""
    return " ".join(dict.fromkeys(KEYS[panel.kind] for panel in figure.panels))


def _facts(outcome: Outcome) -> list[tuple[str, str]]:
    manifest = outcome.results.manifest
    if outcome.job.experiment.calculate:
        return [("Size", "calculated, without a simulation"), ("Version", manifest.version)]
    fabric = outcome.results.fabric
    sweeps = {f"Sweep: {key}": dict.fromkeys(map(_told, values)) for key, values in manifest.sweep.items()}
    return [
        ("Size", "quick" if outcome.job.quick else outcome.job.experiment.size),
        ("Fabric", f"{fabric.hosts} hosts, {fabric.switches} switches"),
        *((key, ", ".join(values)) for key, values in sweeps.items()),
        ("Seeds", ", ".join(map(str, manifest.seeds))),
        ("Runs", f"{len(manifest.runs)}, {sum(run.complete for run in manifest.runs)} complete"),
        ("Version", manifest.version),
    ]


def _told(value: object) -> str:
    """A value that was swept, as in a scenario."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {_told(part)}" for key, part in value.items()) + " }"
    return str(value)


def write_index(out: Path) -> Path:
    """Write ``index.html`` over the experiments that `out` holds, each in the larger size that was run."""
    parts = []
    for paper in papers():
        experiments = of_paper(paper.name)
        found = [(one, *kept) for one in experiments if (kept := _found(out, one.name)) is not None]
        records = {one.name: made for one, _, made in found}
        rows = comparison.rows(experiments, records)
        judged = " ".join(verdicts.summary([row for row in rows if not row.record.quick]))
        waiting = [one.name for one in experiments if one.name not in records]
        ranked = ranking.markdown(experiments, records, {}) if paper.ranks else ""
        if found:
            parts.append(
                {"paper": paper, "rows": rows, "answer": judged, "found": found, "waiting": waiting, "ranked": ranked}
            )
    file = out / "index.html"
    targets.put(file, _template("index.html.j2").render(papers=parts))
    return file


def _found(out: Path, name: str) -> tuple[str, Record] | None:
    """The folder of an experiment below `out`, and its record: the full size if both were run."""
    for folder in (name, f"{name}-quick"):
        if (kept := record.read(out / folder / "record.json")) is not None:
            return folder, kept
    return None
