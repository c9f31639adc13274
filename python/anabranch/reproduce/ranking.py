"""The page of a ranking, as Markdown: a table for each setting, and how transports do at home and away.

Rank 1 is the best. A transport has all ranks that its interval leaves open: from one more than the number of those that
are better to the number of those that are not worse. Where not all flows finished a transport comes behind all others:
what is measured is then of the flows that did.
"""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from anabranch.base import styles, units
from anabranch.reproduce import comparison, measures
from anabranch.reproduce.measures import ALL, Setting, Value
from anabranch.reproduce.tables import grid
from anabranch.results.stats import BUCKETS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.reproduce.model import Experiment
    from anabranch.reproduce.record import Record

MEDIANS = """\
Median over an experiment's settings of the middle of the rank; **bold** in those that a transport was made for. Home
and away: the median over experiments."""
DECIDES = {"p50": f"p50 {ALL}", "p99": f"p99 {ALL}", "goodput": "goodput"}
"""Measures that decide, as experiments name them."""
SAID = {"p50": "the median slowdown of all flows", "p99": "the 99th percentile of all flows' slowdown"}
SAID["goodput"] = "goodput"
HIGHER = {"goodput"}
"""Of these, more is better."""
OTHERS = {
    "goodput": ("goodput (Gbps)", 1e9),
    "queue_max": ("longest queue (KB)", 1e3),
    "queue_mean": ("mean queue (KB)", 1e3),
    "paused": ("paused (%)", 1e-2),
    "lost": ("lost (%)", 1e-2),
    "trimmed": ("trimmed (%)", 1e-2),
}
"""Measures beside the slowdown: what they are called, and the unit in which they are shown."""
KEY = """\
Slowdown is the time that a flow took over the least time in which any of the transports could have completed it on the
idle fabric: p50 is the median, p99 the 99th percentile. ± is the 95 % confidence interval of a mean over seeds
(Student's t); where all seeds give the same number there is none. Goodput: bytes of these flows over the time from the
first request to the last completion; endless flows and those of the warm-up are not among them. Queue: of the switches'
ports where it is longest, and where its mean over time is largest. Paused: the share of the run for which the far end
had paused a link, mean over links. Lost and trimmed: packets that switches dropped (headers and control packets, too)
and cut to headers, over the data packets of all flows.

**Rank**: one transport is better than another if their intervals do not overlap and their means differ by over 1 %. A
rank is from one more than the number of transports that are better to the number of those that are not worse: a wide
interval gives a wide rank. Where not all flows finished a transport comes last. Variants of TCP that do the same in a
setting count as many times. A rank does not say by how much one is better: the tables do."""


Rank = tuple[int, int]
"""The best and the worst rank that a transport may have."""
LEAST = 0.01
"""Means that differ by no more than this share are no difference."""


def ranks(setting: Setting, by: str) -> dict[str, Rank]:
    """Rank the transports of a setting by a measure of `DECIDES`, the best first.

    Examples
    --------
    >>> near, far = Value(2.0, 0.5), Value(4.0, 0.5)
    >>> of = {"a": far, "b": near, "c": Value(2.4, 0.1), "d": Value(3.0, 1.0)}
    >>> ranks(Setting("one", {name: {"p99 all": value} for name, value in of.items()}), "p99")
    {'b': (1, 3), 'c': (1, 3), 'd': (1, 4), 'a': (3, 4)}
    """
    known = {name: None if unfinished(own) else own.get(DECIDES[by]) for name, own in setting.transports.items()}
    values = {name: (1, 0.0) if value is None else (0, _signed(value, by)) for name, value in known.items()}

    def is_better(one: str, other: str) -> bool:
        a, b = known[one], known[other]
        if a is None or b is None:
            return a is not None and b is None
        apart = abs(a.mean - b.mean) > LEAST * max(abs(a.mean), abs(b.mean))
        return apart and (a.low > b.high if by in HIGHER else a.high < b.low)

    def rank(name: str) -> Rank:
        better = sum(is_better(other, name) for other in known)
        return 1 + better, len(known) - sum(is_better(name, other) for other in known)

    return {name: rank(name) for name in sorted(known, key=lambda name: values[name])}


def _signed(value: Value, by: str) -> float:
    return -value.mean if by in HIGHER else value.mean


def _shown(rank: Rank) -> str:
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}–{rank[1]}"


def unfinished(own: Mapping[str, Value]) -> int:
    """How many flows of a transport did not finish, under all seeds."""
    return round(own["unfinished"].mean) if "unfinished" in own else 0


def settings(record: Record) -> list[Setting]:
    """What a record has of a ranking."""
    return measures.from_json(record.settings)


def table(setting: Setting, by: str) -> str:
    """Write a setting: a row for each transport, from the best."""
    sizes = [one for one in BUCKETS if any(f"p50 {one.name}" in own for own in setting.transports.values())]
    sizes = sizes[-1:] if len(sizes) == 2 else sizes  # noqa: PLR2004 - one size and "all" are the same flows
    columns = {
        f"{name} {one.name}": (f"slowdown, {one.label}: {name}", 1.0) for one in sizes for name in measures.QUANTILES
    }
    columns |= OTHERS
    lines = [["rank", "transport", *(title for title, _ in columns.values())]]
    for name, rank in ranks(setting, by).items():
        own = setting.transports[name]
        lost = unfinished(own)
        place = f"did not finish: {lost} flows" if lost else _shown(rank)
        lines.append([place, label(name), *(_cell(own.get(one), scale) for one, (_, scale) in columns.items())])
    return grid(*lines)


def label(transport: str) -> str:
    """What a transport is called."""
    return styles.TRANSPORTS[transport].label.replace("*", "\\*")


def _cell(value: Value | None, scale: float) -> str:
    if value is None:
        return "–"
    return "0" if not value.mean and not value.ci else units.with_interval(value.mean, value.ci, scale)


def section(experiment: Experiment, record: Record, old: str = "") -> str:
    """Write an experiment: what it asks, what decides, and a table for each setting."""
    assert experiment.ranking is not None  # noqa: S101 - who asks knows
    home = ", ".join(map(label, experiment.ranking.home)) or "none of these transports"
    seeds = f"{len(record.seeds)} seed{'' if len(record.seeds) == 1 else 's'}"
    size = f"{'Quick' if record.quick else 'Full'} size, {seeds}"
    said = f"{experiment.question} {size}. Ranked by {SAID[experiment.ranking.by]}. Made for it: {home}."
    blocks = [f"### {experiment.title}", f"`{experiment.name}`: {said}"]
    if experiment.notes:
        blocks.append(comparison.told(experiment).strip())
    if old:
        blocks.append(f"**{old[0].upper()}{old[1:]}.**")
    for one in settings(record):
        blocks += [f"#### {one.name}", table(one, experiment.ranking.by)]
    return "\n\n".join(blocks)


def lines(experiment: Experiment, record: Record) -> list[str]:
    """Write the ranks of each setting in one line, for a terminal."""
    assert experiment.ranking is not None  # noqa: S101 - who asks knows
    said = []
    for one in settings(record):
        places: dict[Rank, list[str]] = {}
        for name, rank in ranks(one, experiment.ranking.by).items():
            places.setdefault(rank, []).append(styles.TRANSPORTS[name].label)
        each = "; ".join(f"{_shown(rank)}: {', '.join(names)}" for rank, names in sorted(places.items()))
        said.append(f"{experiment.name}, {one.name}: {each}")
    return said


def home_and_away(ranked: Sequence[tuple[Experiment, Record]]) -> str:
    """Write how each transport does in what it was made for (bold) and elsewhere: median ranks over settings.

    Transports come in the order of their median rank over all experiments.
    """
    found: dict[str, dict[str, float]] = {}
    homes: dict[str, set[str]] = {}
    for experiment, record in ranked:
        assert experiment.ranking is not None  # noqa: S101 - who asks knows
        each = [ranks(one, experiment.ranking.by) for one in settings(record)]
        for name in dict.fromkeys(name for one in each for name in one):
            middles = [sum(one[name]) / 2 for one in each if name in one]
            found.setdefault(name, {})[experiment.name] = statistics.median(middles)
        for name in experiment.ranking.home:
            homes.setdefault(name, set()).add(experiment.name)
    names = [experiment.name for experiment, _ in ranked]
    lines = [["transport", "home", "away", *(f"`{name.partition('/')[2]}`" for name in names)]]
    for transport in sorted(found, key=lambda one: statistics.median(found[one].values())):
        own, home = found[transport], homes.get(transport, set())
        here = [rank for name, rank in own.items() if name in home]
        there = [rank for name, rank in own.items() if name not in home]
        cells = [_rank([own[name]] if name in own else [], bold=name in home) for name in names]
        lines.append([label(transport), _rank(here, bold=True), _rank(there), *cells])
    return grid(*lines)


def _rank(found: Sequence[float], *, bold: bool = False) -> str:
    if not found:
        return "–"
    said = f"{statistics.median(found):g}"
    return f"**{said}**" if bold else said


def markdown(experiments: Sequence[Experiment], records: Mapping[str, Record], old: Mapping[str, str]) -> str:
    """Write the page: how to read it, home and away first, then each experiment.

    Parameters
    ----------
    experiments, records
        Those of the ranking.
    old
        The experiments whose records are older than the model, with what they are older than.
    """
    ranked = [(one, records[one.name]) for one in experiments if one.ranking and one.name in records]
    if not ranked:
        return "Nothing has been recorded yet."
    waiting = [f"`{one.name}`" for one in experiments if one.name not in records]
    parts = [
        KEY,
        "### Home and away",
        MEDIANS,
        home_and_away(ranked),
    ]
    if waiting:
        parts.append(f"Not measured yet: {', '.join(waiting)}.")
    return "\n\n".join([*parts, *(section(one, record, old.get(one.name, "")) for one, record in ranked)])
