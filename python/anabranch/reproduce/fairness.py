"""What keeps the comparison from being fair, which `anabranch reproduce --check` says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.errors import AnabranchError
from anabranch.reproduce import prose
from anabranch.reproduce.comparison import bare, facts, recorded
from anabranch.reproduce.explanations import lacks
from anabranch.reproduce.record import fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anabranch.reproduce.model import Experiment
    from anabranch.reproduce.record import Record


def problems(
    root: Path, experiments: Sequence[Experiment], records: Mapping[str, Record], old: Mapping[str, str]
) -> list[str]:
    """List what keeps the tables from being a fair comparison; empty if nothing does.

    Unexplained deviations, claims without a number, references to what is not recorded, runs that did not complete,
    records of an older model (`old` says of which experiments, and how) or another version of the scenario, and records
    of the quick size.
    """
    found = []
    for row in bare(experiments, records):
        said = f"{row.measured} against {row.paper}, {row.words}" if row.verdict == "unexplained" else "not measured"
        if row.verdict in {"unexplained", "missing"}:
            found.append(f"{row.experiment.name}, {row.claim.key}: {said}")
    told = facts(experiments, records, root)
    for experiment, record in recorded(experiments, records):
        for text in (experiment.notes, *(why.text for why in experiment.explained.values())):
            try:
                told.text(text, experiment)
            except AnabranchError as error:
                found.append(str(error))
        for name, why in experiment.explained.items():
            if lack := lacks(why, experiment):
                found.append(f"{experiment.name}: explanation.{name}: {lack}")
            lost = [one for one in why.experiments if one not in records and why.kind == "measured"]
            found += [
                f"{experiment.name}: explanation.{name}: measured by {one}, which is not recorded" for one in lost
            ]
        file = root / experiment.file
        text = file.read_text(encoding="utf-8") if experiment.file and file.is_file() else ""
        if record.scenario != fingerprint(experiment, text, quick=record.quick):
            found.append(f"{experiment.name}: recorded with another version of {experiment.file}")
        if one := old.get(experiment.name):
            found.append(f"{experiment.name}: {one}; `anabranch reproduce {experiment.name} --record` makes it again")
        if record.incomplete:
            found.append(f"{experiment.name}: {record.incomplete} runs did not complete")
        if record.quick:
            found.append(f"{experiment.name}: recorded in the quick size only")
    return found


def remarks(experiments: Sequence[Experiment], records: Mapping[str, Record]) -> list[str]:
    """List what to know of the records: claims of one seed, numbers that none holds."""
    found = []
    for one, record in recorded(experiments, records):
        single = [key for key, measured in record.claims.items() if len(measured.values) == 1 and not one.calculate]
        if single:
            found.append(f"{one.name}: one seed: {', '.join(single)}")
        for at, text in prose.shown(one).items():
            if once := [*prose.once(text), *(["what a command shows"] if prose.commands(text) else [])]:
                found.append(f"{one.name}: {at}: measured once, not recorded: {', '.join(once)}")
    return found
