"""Slowdown against the size of flows: the picture of Homa's evaluation (SIGCOMM 2018, Figure 8) and of many since.

Flows are put into groups of as many flows each, in the order of their sizes, so that half of the picture's width is
half of the flows. Flows of one size stay in one group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from anabranch.results import stats

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.results.tables import Tables

MOST = 20
"""Groups at most."""

LEAST = 4
"""Groups at least: fewer are no picture."""

EACH = 20
"""Flows of each group and seed, on average, at least."""

BEYOND = 2
"""Of these, at least, that lie beyond the percentile."""


@dataclass(frozen=True, slots=True)
class SizeGroups:
    """Groups of flows by size.

    Attributes
    ----------
    upper
        Largest size of each group, in bytes, ascending.
    share
        Share of all flows that are not larger.
    """

    upper: np.ndarray
    share: np.ndarray

    def __len__(self) -> int:
        return len(self.upper)

    @property
    def middle(self) -> np.ndarray:
        """Where each group stands on an axis of shares of flows: in the middle of its own."""
        lower = np.concatenate([np.zeros(1), self.share[:-1]])
        return np.asarray((self.share + lower) / 2)

    def size_at(self, share: float) -> float:
        """The largest size of the group in which so large a share of the flows ends."""
        place = int(np.searchsorted(self.share, share - 1e-9))
        return float(self.upper[min(place, len(self.upper) - 1)])

    def of(self, column: str = "size_bytes") -> pl.Expr:
        """The number of a flow's group."""
        return pl.lit(pl.Series(self.upper)).search_sorted(pl.col(column), side="left")


def size_groups(sizes: np.ndarray, groups: int) -> SizeGroups:
    """Divide flows by size into groups of about as many flows each.

    Parameters
    ----------
    sizes
        Sizes of all flows, in bytes, in any order; at least one.
    groups
        How many groups are wanted, at least 1. Where many flows have one size there are fewer.

    Examples
    --------
    >>> groups = size_groups(np.array([1, 1, 1, 1, 5, 6, 7, 8]), 4)
    >>> groups.upper.tolist(), groups.share.tolist()
    ([1, 6, 8], [0.5, 0.75, 1.0])
    """
    ordered = np.sort(sizes)
    last = np.ceil(np.arange(1, groups + 1) * ordered.size / groups).astype(int) - 1
    upper = np.unique(ordered[last])
    share = np.searchsorted(ordered, upper, side="right") / ordered.size
    return SizeGroups(upper, share)


def groups_for(flows: pl.DataFrame, by: Sequence[str], quantile: float) -> SizeGroups | None:
    """Groups in which this quantile says something of each seed of each of what is compared; None if flows are too few.

    Parameters
    ----------
    flows
        Rows with ``seed``, ``size_bytes``, ``slowdown`` and the columns of `by`.
    by
        What is compared.
    quantile
        Between 0 and 1: 0.5 needs 20 flows of each group and seed, 0.99 needs 200, 0.999 needs 2000.
    """
    finished = flows.filter(pl.col("slowdown").is_not_null())
    if finished.is_empty():
        return None
    fewest = int(finished.group_by([*by, "seed"]).len()["len"].min())  # type: ignore[arg-type]  # a count
    wanted = min(MOST, fewest // EACH, int(fewest * (1 - quantile) / BEYOND + 1e-9))
    if wanted < LEAST:
        return None
    groups = size_groups(finished["size_bytes"].to_numpy(), wanted)
    return groups if len(groups) >= LEAST else None


def slowdown_by_size(
    results: Tables, *, by: Sequence[str] | None = None, quantile: float = 0.99, pool: bool = False
) -> pl.DataFrame:
    """A quantile of the slowdown in groups of flows by size, with intervals over seeds.

    Flows that did not finish have no slowdown and are left out, as are background flows.

    Parameters
    ----------
    results, by, pool
        As of `anabranch.stats.fct_table`.
    quantile
        Between 0 and 1.

    Returns
    -------
    polars.DataFrame
        One row per group of `by` and group of sizes, by size: ``up_to_bytes``, ``share`` (of all flows: the middle of
        the group), ``slowdown`` and its ``slowdown_ci``, ``seeds`` and ``samples``. No row where flows are too few
        (`groups_for`).

    Raises
    ------
    StatisticsError
        If the groups would mix different populations and `pool` is false.
    """
    keys = stats.grouping(results, by, pool=pool)
    return of_flows(results.flows.filter(stats.FINITE), results, by=keys, quantile=quantile)


def of_flows(flows: pl.DataFrame, results: Tables, *, by: Sequence[str], quantile: float) -> pl.DataFrame:
    """The table of `slowdown_by_size` for some of the flows."""
    columns = [*by, "up_to_bytes", "share"]
    groups = groups_for(flows, by, quantile)
    if groups is None:
        flows, groups = flows.head(0), SizeGroups(np.array([1]), np.array([1.0]))
    places = pl.DataFrame({"group": range(len(groups)), "up_to_bytes": groups.upper, "share": groups.middle})
    own = stats.with_samples(flows.lazy().filter(pl.col("slowdown").is_not_null()), results)
    each = (
        own.with_columns(groups.of().cast(pl.Int64).alias("group"))
        .join(places.lazy(), on="group", how="left")
        .group_by([*columns, "seed"], maintain_order=True)
        .agg(stats.SAMPLE, pl.col("slowdown").quantile(quantile, "linear"))
        .sort([*by, "share", "seed"], maintain_order=True)
        .collect()
    )
    return stats.over_seeds(each, columns, ["slowdown"], stats.CONFIDENCE)
