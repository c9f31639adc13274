"""What a comparison found, in a sentence for each kind of flow: made from the same numbers as the table.

A ratio is taken seed by seed (`anabranch.results.paired`), since every series value sees the same flows under a seed;
its interval is Student's t on the logarithms of these ratios. It is *not significant* where that interval holds 1. Of
several sweep points those are told in which a ratio is significant at the level divided by their number (Bonferroni);
the marks of the tables are set by the same function at the same level. With one seed there is no interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.base import units
from anabranch.results import stats
from anabranch.results.comparison import compare, within
from anabranch.results.jobs import job_sentences
from anabranch.results.paired import Ratio, Seeds, level, ratio, short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anabranch.results.comparison import Comparison
    from anabranch.results.tables import Tables

NAMED = 3
"""Rivals of the best that a sentence names; of more it names the nearest and the farthest."""

SMALL = 0.05
"""Share of the flows, and of the bytes, up to which a size bucket is not worth a sentence."""

SAME = "1.00"
"""A ratio that says nothing."""

TINY = 1e-12
"""What stands for zero in a logarithm: goodput of flows that got nothing."""


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


def findings(results: Tables) -> list[str]:
    """Say what an experiment found: a sentence for each job, the smallest flows, the largest, and those without end.

    Returns
    -------
    list[str]
        Sentences, the shortest flows first; empty if no flow finished.
    """
    comparison = compare(results)
    found = job_sentences(results)
    for kind in _kinds(results):
        numbers = _numbers(results, comparison, kind)
        if not numbers.is_empty():
            found += _sentences(kind, numbers, comparison)
    return found + _unfinished(results, comparison)


def _kinds(results: Tables) -> Iterator[Kind]:
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


def _numbers(results: Tables, comparison: Comparison, kind: Kind) -> pl.DataFrame:
    """One row per panel, series value and seed: ``value``, ``unfinished`` and ``sample``."""
    keys = [comparison.series, *comparison.panel_keys]
    flows = stats.with_samples(results.scan("flows").filter(kind.holds), results)
    ended = pl.lit(0) if kind.quantity is GOODPUT else pl.col("fct_ns").is_null().sum()
    grouped = flows.group_by([*keys, "seed"], maintain_order=True).agg(
        stats.FLOW_METRICS[kind.quantity.column].fill_nan(None).alias("value"),
        ended.alias("unfinished"),
        stats.SAMPLE.alias("sample"),
    )
    return results.collect("flows", grouped)


def _sentences(kind: Kind, numbers: pl.DataFrame, comparison: Comparison) -> list[str]:
    label = {value: comparison.look(value).label for value in comparison.values}
    lost = set(numbers.filter(pl.col("unfinished") > 0)[comparison.series].to_list())
    able = [value for value in comparison.values if value not in lost]
    panels = _panels(numbers, able, comparison)
    if not panels:
        return []
    best = min(able, key=lambda value: sum(_order(panel, value, able, kind.quantity) for panel in panels.values()))
    rivals = [value for value in able if value != best]
    alone = len(panels) == 1
    where = f" ({next(iter(panels))})" if alone and len(comparison.panels) > 1 else ""
    head = f"{kind.name}, {kind.quantity.name}{where}: {label[best]}"
    if alone:
        value, half = _mean(next(iter(panels.values()))[best])
        scale, unit = units.time_unit(value) if kind.quantity.time else units.rate_unit(value)
        head += f" {units.with_interval(value, half, scale)} {unit}"
    elif rivals:
        count = len(panels)
        missing = "" if count == len(comparison.panels) else f" of {len(comparison.panels)}"
        head += f" is best in the mean over {count}{missing} settings"
    own = level(len(comparison.panels))
    told = {rival: ratios for rival in rivals if (ratios := _rival(panels, best, rival, own))}
    if not told:
        return [f"{head}."] if alone else []
    return [f"{head}; {_rivals(told, label, kind.quantity)}."]


def _unfinished(results: Tables, comparison: Comparison) -> list[str]:
    """Of which series values flows did not finish: they are not compared above, since that would flatter them."""
    flows = results.scan("flows").filter(stats.FINITE).group_by(comparison.series)
    counts = flows.agg(pl.len().alias("all"), pl.col("fct_ns").is_null().sum().alias("lost"))
    rows = {row[comparison.series]: row for row in results.collect("flows", counts).to_dicts()}
    parts = []
    for value in comparison.values:
        row = rows.get(value, {"lost": 0})
        if row["lost"]:
            share = "all" if row["lost"] == row["all"] else f"{units.count(row['lost'])} of"
            parts.append(f"{share} {units.count(row['all'])} flows of {comparison.look(value).label}")
    return [f"Did not finish: {_list(parts)}."] if parts else []


Panels = dict[str, dict[Any, Seeds]]
"""Name of a panel to series value to seed to its number and the run that it comes from."""


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
            found[comparison.words(point)] = own
    return found


def _mean(numbers: Mapping[int, tuple[float, str]]) -> tuple[float, float | None]:
    """The table's number: the mean over different runs, with its interval unless all are the same."""
    mean, half = stats.interval([number for number, _ in dict.fromkeys(numbers.values())])
    return mean, half or None


def _order(
    panel: Mapping[Any, Mapping[int, tuple[float, str]]],
    value: Any,  # noqa: ANN401
    all_: Sequence[Any],
    of: Quantity,
) -> float:
    """How far a series value is from the best of a panel by the table's means, as a logarithm: 0 for the best."""

    def level(one: Any) -> float:  # noqa: ANN401
        mean, _ = _mean(panel[one])
        return math.log(max(mean, TINY)) * (1 if of.time else -1)

    return level(value) - min(level(one) for one in all_)


def _rival(panels: Panels, best: Any, rival: Any, confidence: float) -> dict[str, Ratio]:  # noqa: ANN401
    """Panel to how many times as much the rival has as the best."""
    made = {name: ratio(panel[rival], panel[best], confidence=confidence) for name, panel in panels.items()}
    return {name: one for name, one in made.items() if one is not None}


def _rivals(told: Mapping[Any, Mapping[str, Ratio]], label: Mapping[Any, str], of: Quantity) -> str:
    """Say how the rivals compare with the best, from the nearest to the farthest."""
    verb, much = ("takes", " as long") if of.time else ("has", " as much")
    ordered = sorted(told, key=lambda value: abs(_distance(told[value])))
    shown = ordered if len(ordered) <= NAMED else [ordered[0], ordered[-1]]
    parts = []
    for value in shown:
        text = _range(told[value])
        if text is None:
            same = all(short(one.value) == SAME and one.low is None for one in told[value].values())
            equal = f"{label[value]} is equal to three digits"
            parts.append(equal if same else f"{label[value]} does not differ significantly")
        else:
            parts.append(f"{label[value]} {verb} {text[0]} times{much}{text[1]}")
            # Once said, "takes" and "as long" go without saying.
            verb, much = "", ""
    if len(shown) < len(ordered):
        parts.append(f"{len(ordered) - len(shown)} others lie between")
    return ", ".join(part.replace("  ", " ") for part in parts)


def _distance(ratios: Mapping[str, Ratio]) -> float:
    return sum(math.log(one.value) for one in ratios.values()) / len(ratios)


def _range(ratios: Mapping[str, Ratio]) -> tuple[str, str] | None:
    """A ratio; or of several the smallest and the largest that are significant, and in how many settings they are."""
    if len(ratios) == 1:
        only = next(iter(ratios.values()))
        # Below 1 it is not the best, and not significantly so: means and ratios weigh seeds in different ways.
        told = only.significant or (only.low is not None and only.value > 1)
        return (only.text, "") if told and short(only.value) != SAME else None
    known = {name: one for name, one in ratios.items() if one.significant}
    if not known:
        return None
    ordered = sorted(known, key=lambda name: known[name].value)
    others = f" in {len(known)} of {len(ratios)} settings, with no significant difference in the others"
    where = "" if len(known) == len(ratios) else others
    low, high = ordered[0], ordered[-1]
    if short(known[low].value) == short(known[high].value):
        return short(known[low].value), where
    return f"{short(known[low].value)} ({low}) to {short(known[high].value)} ({high})", where


def _list(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
