"""The page docs/fidelity/htsim.md: the template with tables and numbers from the record."""

import json
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from htsim_case import CASES, PACKETS

from anabranch.results import stats

TEMPLATE = Path(__file__).resolve().parent / "htsim.template.md"


@dataclass(frozen=True)
class Times:
    """Completion times of flows in microseconds, by seed, each sorted."""

    theirs: list[list[float]]
    ours: list[list[float]]

    def apart(self) -> float:
        """How far apart the two distributions of times are: the mean distance of sorted times, over their mean."""
        them, us = (sorted(time for times in side for time in times) for side in (self.theirs, self.ours))
        return statistics.fmean(abs(a - b) for a, b in zip(them, us, strict=True)) / statistics.fmean(them)


@dataclass(frozen=True)
class Record:
    """What was measured: the commits of csg-htsim and uet-htsim, and the times of each case and matrix."""

    commit: str
    uet: str
    rows: Mapping[str, Times]

    @classmethod
    def of_json(cls, text: str) -> "Record":
        told = json.loads(text)
        return cls(told["commit"], told["uet"], {name: Times(**times) for name, times in told["rows"].items()})

    def as_json(self) -> str:
        def listed(times: Sequence[Sequence[float]]) -> list[list[float]]:
            return [[round(time, 1) for time in of_seed] for of_seed in times]

        rows = {name: {"theirs": listed(times.theirs), "ours": listed(times.ours)} for name, times in self.rows.items()}
        lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(times)}" for name, times in rows.items())
        return f'{{"commit": {json.dumps(self.commit)}, "uet": {json.dumps(self.uet)}, "rows": {{\n{lines}\n}}}}\n'


def interval(values: Sequence[float]) -> str:
    """A mean of seeds and half of its 95 % confidence interval."""
    mean, half = stats.interval(values)
    return f"{mean:.0f} ± {half or 0:.0f}"


def table(record: Record, kind: str) -> str:
    """All cases on one matrix."""
    lines = [
        "| transport | theirs, mean FCT in us | Anabranch | ratio | theirs, last flow | Anabranch | apart |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for case in CASES:
        times = record.rows[f"{case.name}, {kind}"]
        means = [[statistics.fmean(flows) for flows in side] for side in (times.theirs, times.ours)]
        lasts = [[flows[-1] for flows in side] for side in (times.theirs, times.ours)]
        ratio = statistics.fmean(means[1]) / statistics.fmean(means[0])
        cells = [*map(interval, means), f"{ratio:.3f}", *map(interval, lasts), f"{100 * times.apart():.1f} %"]
        lines.append(f"| {case.name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def number(record: Record, what: str) -> str:
    """A number in a sentence: `ratio`, `apart`, `theirs` or `ours` (mean FCT) of a case and a matrix."""
    word, _, name = what.partition(" ")
    times = record.rows[name]
    means = {side: statistics.fmean(map(statistics.fmean, getattr(times, side))) for side in ("theirs", "ours")}
    if word == "ratio":
        return f"{means['ours'] / means['theirs']:.3f}"
    return f"{100 * times.apart():.1f} %" if word == "apart" else f"{means[word]:.0f}"


def page(record: Record) -> str:
    """The page."""
    text = TEMPLATE.read_text(encoding="utf-8")
    for kind in PACKETS:
        text = text.replace(f"{{table {kind}}}", table(record, kind))
    text = text.replace("{commit}", record.commit[:7]).replace("{uet}", record.uet[:7])
    return re.sub(r"\{((?:ratio|apart|theirs|ours) [^}]+)\}", lambda found: number(record, found[1]), text)
