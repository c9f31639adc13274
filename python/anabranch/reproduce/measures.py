"""What each transport did in each setting of a ranking: slowdown by size of flows, goodput, queues, pauses, losses.

Every measure is computed seed by seed; the mean over seeds and its 95 % interval (Student's t) come after. Sessions are
the same under every transport of a seed. So are their ideal times here: a flow's slowdown is over the least ideal time
that any of the transports has for it, as these differ by headers and by the paths that packets may take.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from anabranch.errors import AnabranchError
from anabranch.reproduce.captions import filled
from anabranch.results import stats

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.reproduce.model import Experiment
    from anabranch.results.tables import Tables

QUANTILES = {"p50": 0.5, "p99": 0.99}
ALL = stats.BUCKETS[-1].name
GROUP = ("setting", "transport")
LINKS = ("goodput", "queue_max", "queue_mean", "paused", "lost", "trimmed")


@dataclass(frozen=True, slots=True)
class Value:
    """A mean over seeds, and half the width of its interval: None for one seed, and where all gave the same."""

    mean: float
    ci: float | None

    @property
    def low(self) -> float:
        """Lower end of the interval."""
        return self.mean - (self.ci or 0.0)

    @property
    def high(self) -> float:
        """Upper end of the interval."""
        return self.mean + (self.ci or 0.0)


@dataclass(frozen=True, slots=True)
class Setting:
    """The transports in one setting.

    Attributes
    ----------
    name
        As the experiment's `ranking` calls it.
    transports
        Transport to measure to value. Measures: ``p50 BUCKET`` and ``p99 BUCKET`` (slowdown of the flows of a size, of
        `stats.BUCKETS`), ``goodput`` (bits per second: bytes of the flows that count over the time from the first
        request to the last completion), ``queue_max`` and ``queue_mean`` (bytes: the longest queue of a switch's port,
        and the largest mean over time), ``paused`` (share of the run for which links were paused, mean over links),
        ``lost`` and ``trimmed`` (packets that switches dropped or trimmed, over the data packets of all flows),
        ``unfinished`` (flows of all seeds).
    """

    name: str
    transports: Mapping[str, Mapping[str, Value]]


def measured(results: Tables, experiment: Experiment) -> list[Setting]:
    """Measure each transport in each setting, both in the order of the runs.

    Raises
    ------
    AnabranchError
        If two runs of a seed have one transport and setting: the name does not tell the settings apart.
    """
    runs = _runs(results, experiment)
    flows = _flows(results, runs)
    tables = [*_slowdowns(flows), _rest(results, runs, flows)]
    found: dict[str, dict[str, dict[str, Value]]] = {}
    for name, transport in runs.select(GROUP).unique(maintain_order=True).iter_rows():
        found.setdefault(name, {})[transport] = {}
    for table in tables:
        measures = [name for name in table.columns if f"{name}_ci" in table.columns]
        for row in table.iter_rows(named=True):
            own = found[row["setting"]][row["transport"]]
            own |= {one: Value(row[one], row[f"{one}_ci"]) for one in measures if row[one] is not None}
    unfinished = flows.group_by(GROUP).agg(pl.col("fct_ns").is_null().sum())
    for name, transport, count in unfinished.iter_rows():
        found[name][transport]["unfinished"] = Value(float(count), None)
    return [Setting(name, transports) for name, transports in found.items()]


def as_json(settings: Sequence[Setting]) -> list[dict[str, Any]]:
    """Write settings as JSON values: mean and interval of each measure, with 4 significant digits."""
    return [
        {
            "setting": one.name,
            "transports": {
                transport: {name: [_short(value.mean), _short(value.ci)] for name, value in own.items()}
                for transport, own in one.transports.items()
            },
        }
        for one in settings
    ]


def from_json(data: Sequence[Mapping[str, Any]]) -> list[Setting]:
    """Read what `as_json` wrote."""
    return [
        Setting(
            one["setting"],
            {
                transport: {name: Value(*value) for name, value in own.items()}
                for transport, own in one["transports"].items()
            },
        )
        for one in data
    ]


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def _runs(results: Tables, experiment: Experiment) -> pl.DataFrame:
    """The runs with their setting and sample."""
    assert experiment.ranking is not None  # noqa: S101 - who asks knows
    runs = stats.with_samples(results.runs.lazy(), results).collect()
    names = [filled(experiment.ranking.setting, runs[place]) for place in range(runs.height)]
    runs = runs.with_columns(pl.Series("setting", names, pl.String()))
    twice = runs.filter(pl.len().over(*GROUP, "seed") > 1)
    if twice.height:
        raise AnabranchError(
            f"{experiment.name}: ranking: setting: several settings are called {twice['setting'][0]!r}",
            hint=f"the keys are {', '.join(results.keys)}",
        )
    return runs.select("run", *GROUP, "seed", "sample", "simulated_ns")


def _flows(results: Tables, runs: pl.DataFrame) -> pl.DataFrame:
    """The flows that count, with their setting, and their slowdown over the least ideal time."""
    times = ("start_ns", "end_ns", "fct_ns", "ideal_fct_ns")
    columns = ("run", "session", "dst_host", "size_bytes", *times, "packets_sent")
    flows = results.collect("flows", results.scan("flows").filter(stats.FINITE).select(columns))
    ideal = pl.col("ideal_fct_ns").min().over("setting", "seed", "session", "dst_host")
    return flows.join(runs, on="run", how="left", maintain_order="left").with_columns(
        (pl.col("fct_ns") / ideal).alias("slowdown")
    )


def _slowdowns(flows: pl.DataFrame) -> list[pl.DataFrame]:
    """Of each size of flows, the quantiles of the slowdown."""
    tables = []
    for bucket in stats.BUCKETS:
        values = {f"{name} {bucket.name}": pl.col("slowdown").quantile(at, "linear") for name, at in QUANTILES.items()}
        each = flows.filter(bucket.holds()).group_by(*GROUP, "seed", maintain_order=True)
        by_seed = each.agg(stats.SAMPLE, *(value.alias(name) for name, value in values.items()))
        tables.append(stats.over_seeds(by_seed, GROUP, list(values), stats.CONFIDENCE))
    return tables


def _rest(results: Tables, runs: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Goodput, and what the links saw."""
    of_switch = pl.col("src_level") != "host"
    lost = pl.sum_horizontal(pl.col("dropped", "headroom_drops").fill_null(0).sum())
    seen = (
        results.scan("links")
        .group_by("run")
        .agg(
            pl.col("queue_max_bytes").filter(of_switch).max().cast(pl.Float64).alias("queue_max"),
            pl.col("queue_mean_bytes").filter(of_switch).max().alias("queue_mean"),
            pl.col("paused_ns").fill_null(0.0).mean(),
            lost.alias("lost"),
            pl.col("trimmed").sum(),
        )
    )
    # Of all flows, as what links lost is of all. A session's packets stand in the row of each of its receivers.
    each = results.scan("flows").select("run", "session", "packets_sent").unique(["run", "session"])
    sent = results.collect("flows", each.group_by("run").agg(pl.col("packets_sent").sum()))
    done = pl.col("end_ns").is_not_null()
    time = pl.col("end_ns").max() - pl.col("start_ns").min()
    goodput = flows.group_by("run").agg((8e9 * pl.col("size_bytes").filter(done).sum() / time).alias("goodput"))
    by_run = runs
    for table in (results.collect("links", seen), sent, goodput):
        by_run = by_run.join(table, on="run", how="left", maintain_order="left")
    by_seed = by_run.with_columns(
        (pl.col("paused_ns") / pl.col("simulated_ns")).alias("paused"),
        pl.col("lost", "trimmed") / pl.col("packets_sent"),
    )
    return stats.over_seeds(by_seed, GROUP, LINKS, stats.CONFIDENCE)
