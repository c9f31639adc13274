"""What a comparison found, in a sentence for each kind of flow: made from the same numbers as the table.

A ratio is taken seed by seed, since every series value sees the same flows under a seed; its interval is Student's t on
the logarithms of these ratios. Two are *equal* where that interval holds 1. With one seed there is no interval, and
nothing is called equal but what is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch import stats, units
from anabranch.comparison import compare, title, within

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anabranch.comparison import Comparison
    from anabranch.results import Results

NAMED = 3
"""Rivals of the best that a sentence names; of more it names the nearest and the farthest."""

SMALL = 0.05
"""Share of the flows, and of the bytes, up to which a size bucket is not worth a sentence."""

DIGITS = 100.0
"""Ratios from here on are told without decimals."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """What a kind of flow is judged by: a column of its statistics, its name, and whether less is better."""

    column: str
    name: str
    time: bool


@dataclass(frozen=True, slots=True)
class Kind:
    """Flows that are judged together: what they are called, which they are, and by what."""

    name: str
    holds: pl.Expr
    quantity: Quantity


TAIL = Quantity("fct_p99_ns", "p99 FCT", time=True)
MEAN = Quantity("fct_mean_ns", "mean FCT", time=True)
GOODPUT = Quantity("goodput_mean_bps", "mean goodput", time=False)


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as much one series value has as another, with the ends of its interval if there is one."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def equal(self) -> bool:
        """Whether the two do not differ, as far as the seeds can tell."""
        if self.low is None or self.high is None:
            return self.value == 1.0
        return self.low <= 1.0 <= self.high

    @property
    def text(self) -> str:
        """The ratio, and its interval in brackets."""
        if self.low is None or self.high is None:
            return _short(self.value)
        return f"{_short(self.value)} ({_short(self.low)} to {_short(self.high)})"


def findings(results: Results) -> list[str]:
    """Say what an experiment found: a sentence for the smallest flows, the largest, and those without end.

    Returns
    -------
    list[str]
        Sentences, the shortest flows first; empty if no flow finished.
    """
    comparison = compare(results)
    found = []
    for kind in _kinds(results):
        numbers = _numbers(results, comparison, kind)
        if not numbers.is_empty():
            found += _sentences(kind, numbers, comparison)
    return found


def _kinds(results: Results) -> Iterator[Kind]:
    """The smallest and the largest size bucket that matters, by its flows or its bytes; or background traffic."""
    finite = stats.FINITE
    size = pl.col("size_bytes").cast(pl.Float64)
    frame = results.scan("flows").select(
        *((finite & bucket.holds()).sum().alias(f"flows {bucket.name}") for bucket in stats.BUCKETS),
        *(size.filter(finite & bucket.holds()).sum().alias(f"bytes {bucket.name}") for bucket in stats.BUCKETS),
        pl.col("background").any().alias("background"),
    )
    present = results.collect("flows", frame).row(0, named=True)
    buckets = [
        bucket
        for bucket in stats.BUCKETS[:-1]
        if any(present[f"{of} {bucket.name}"] > SMALL * present[f"{of} all"] for of in ("flows", "bytes"))
    ]
    if len(buckets) == 1:
        yield Kind("Flows", finite, TAIL)
    elif buckets:
        first, last = buckets[0], buckets[-1]
        yield Kind(f"Flows {_size(first)}", finite & first.holds(), TAIL)
        yield Kind(f"Flows {_size(last)}", finite & last.holds(), MEAN)
    elif present["background"]:
        yield Kind("Background flows", pl.col("background"), GOODPUT)


def _size(bucket: stats.Bucket) -> str:
    """A bucket's sizes after the word flows: ``≤ 10 KB``, ``of 10 to 100 KB``."""
    return bucket.label if bucket.label[0] in "≤>" else f"of {bucket.label}"


def _numbers(results: Results, comparison: Comparison, kind: Kind) -> pl.DataFrame:
    """One row per panel, series value and seed: ``value``, ``unfinished`` and ``sample``."""
    keys = [comparison.series, *comparison.panel_keys]
    flows = stats.with_samples(results.scan("flows").filter(kind.holds), results)
    ended = pl.lit(0) if kind.quantity is GOODPUT else pl.col("fct_ns").is_null().sum()
    grouped = flows.group_by([*keys, "seed"], maintain_order=True).agg(
        stats.FLOW_METRICS[kind.quantity.column].alias("value"),
        ended.alias("unfinished"),
        stats.SAMPLE.alias("sample"),
    )
    return results.collect("flows", grouped)


def _sentences(kind: Kind, numbers: pl.DataFrame, comparison: Comparison) -> list[str]:
    label = {value: comparison.look(value).label for value in comparison.values}
    lost = _unfinished(numbers, comparison)
    found = []
    if lost:
        parts = [f"{units.count(count)} of {label[value]}" for value, count in lost.items()]
        found.append(f"{kind.name}: {_list(parts)} did not finish.")
    able = [value for value in comparison.values if value not in lost]
    panels = _panels(numbers, able, comparison)
    if not panels:
        return found
    best = min(able, key=lambda value: sum(_order(panel, value, able, kind.quantity) for panel in panels.values()))
    rivals = [value for value in able if value != best]
    value, half = _mean(panels, best)
    head = f"{kind.name}, {kind.quantity.name}: {label[best]}"
    if len(panels) == 1:
        scale, unit = units.time_unit(value) if kind.quantity.time else units.rate_unit(value)
        head += f" {units.with_interval(value, half, scale)} {unit}"
    elif rivals:
        head += " is best in the mean over all settings"
    if not rivals:
        return [*found, f"{head}."] if len(panels) == 1 else found
    told = {rival: _rival(panels, best, rival) for rival in rivals}
    return [f"{head}; {_rivals(told, label, kind.quantity)}.", *found]


def _unfinished(numbers: pl.DataFrame, comparison: Comparison) -> dict[Any, int]:
    """Series values with flows that did not finish: their numbers would flatter them."""
    counts = numbers.group_by(comparison.series).agg(pl.col("unfinished").sum()).filter(pl.col("unfinished") > 0)
    found = dict(counts.iter_rows())
    return {value: found[value] for value in comparison.values if value in found}


Panels = dict[str, dict[Any, dict[int, tuple[float, str]]]]
"""Title of a panel to series value to seed to its number and the run that it comes from."""


def _panels(numbers: pl.DataFrame, able: Sequence[Any], comparison: Comparison) -> Panels:
    """The numbers of the panels in which every series value has some."""
    found: Panels = {}
    for point in comparison.panels:
        rows = numbers.filter(within(point, columns=numbers.columns)).drop_nulls("value")
        own = {
            value: {
                row["seed"]: (row["value"], row["sample"])
                for row in rows.filter(pl.col(comparison.series) == value).to_dicts()
            }
            for value in able
        }
        if own and all(own.values()):
            found[title(point)] = own
    return found


def _mean(panels: Panels, value: Any) -> tuple[float, float | None]:  # noqa: ANN401 - of any column
    numbers = [number for panel in panels.values() for number in dict.fromkeys(panel[value].values())]
    return stats.interval([number for number, _ in numbers])


def _order(
    panel: Mapping[Any, Mapping[int, tuple[float, str]]],
    value: Any,  # noqa: ANN401
    all_: Sequence[Any],
    of: Quantity,
) -> float:
    """How far a series value is from the best of a panel, as a logarithm: 0 for the best."""

    def level(one: Any) -> float:  # noqa: ANN401
        logs = [math.log(number) for number, _ in panel[one].values() if number > 0]
        return (sum(logs) / len(logs) if logs else -math.inf) * (1 if of.time else -1)

    return level(value) - min(level(one) for one in all_)


def _rival(panels: Panels, best: Any, rival: Any) -> dict[str, Ratio]:  # noqa: ANN401
    """Panel to how many times as much the rival has as the best."""
    return {name: ratio(panel[rival], panel[best]) for name, panel in panels.items()}


def ratio(above: Mapping[int, tuple[float, str]], below: Mapping[int, tuple[float, str]]) -> Ratio:
    """Divide what two series values have under the same seeds.

    Parameters
    ----------
    above, below
        Seed to a positive number and the run that it comes from. A pair of runs that several seeds gave counts once.

    Returns
    -------
    Ratio
        Geometric mean over the seeds that both have, with Student's interval if at least two pairs differ.

    Examples
    --------
    >>> ratio({1: (2.0, "a"), 2: (8.0, "b")}, {1: (1.0, "c"), 2: (4.0, "d")}).text
    '2.00'
    >>> ratio({1: (2.0, "a"), 2: (2.2, "b")}, {1: (1.0, "c"), 2: (1.0, "d")}).equal
    False
    """
    pairs = {
        (above[seed][1], below[seed][1]): math.log(above[seed][0] / below[seed][0])
        for seed in above
        if seed in below and above[seed][0] > 0 and below[seed][0] > 0
    }
    mean, half = stats.interval(list(pairs.values()))
    if half is None or half == 0:
        return Ratio(math.exp(mean))
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def _rivals(told: Mapping[Any, Mapping[str, Ratio]], label: Mapping[Any, str], of: Quantity) -> str:
    """Say how the rivals compare with the best: equal ones first, then from the nearest to the farthest."""
    verb = "takes" if of.time else "has"
    equal = [value for value, ratios in told.items() if all(one.equal for one in ratios.values())]
    others = sorted((value for value in told if value not in equal), key=lambda value: _distance(told[value]))
    known = all(one.low is not None for value in equal for one in told[value].values())
    singular, plural = (
        ("does not differ significantly", "do not differ significantly") if known else ("is equal", "are equal")
    )
    parts = [f"{_list([label[value] for value in equal])} {singular if len(equal) == 1 else plural}"] if equal else []
    shown = others if len(others) <= NAMED else [others[0], others[-1]]
    for place, value in enumerate(shown):
        text = f"{label[value]} {verb} {_range(told[value])} times as {'long' if of.time else 'much'}"
        parts.append(text if not parts or (place == 0 and equal) else f"{label[value]} {_range(told[value])} times")
    if len(shown) < len(others):
        parts.append(f"{len(others) - len(shown)} others lie between")
    return ", ".join(parts)


def _distance(ratios: Mapping[str, Ratio]) -> float:
    return sum(abs(math.log(one.value)) for one in ratios.values())


def _range(ratios: Mapping[str, Ratio]) -> str:
    """A ratio, or the smallest and the largest with where they are."""
    if len(ratios) == 1:
        return next(iter(ratios.values())).text
    ordered = sorted(ratios, key=lambda name: ratios[name].value)
    low, high = ordered[0], ordered[-1]
    return f"{_short(ratios[low].value)} ({low}) to {_short(ratios[high].value)} ({high})"


def _list(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def _short(value: float) -> str:
    """Three digits; two decimals below ten, so that 1.02 is not 1.0."""
    return f"{value:.0f}" if value >= DIGITS else units.digits(value)
