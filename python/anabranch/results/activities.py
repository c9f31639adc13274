"""What each rank of a job did over time: computed, or waited for messages that no computation hid."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.results.tables import Tables

COMPUTES = "computes"
NETWORK = "message under way, over the network"
SERVER = "message under way, inside its server"
WAITS = "waits for a message that nobody has sent yet"
NOTHING = "nothing to do"

ACTIVITIES = (COMPUTES, NETWORK, SERVER, WAITS, NOTHING)
"""What a rank is found doing, first things first: where it computes, messages are hidden.

A time that the job gives counts as computed, as in ``ranks.parquet``.
"""

OWN_TIME = ("compute", "wait")
"""Kinds of operations that are not messages."""


@dataclass(frozen=True, slots=True)
class Activities:
    """What ranks did in equal parts of a run's time.

    Attributes
    ----------
    begin, end
        Ends of the time, in nanoseconds.
    ranks
        Workload and number of each rank, in order.
    shares
        Of each rank, part of the time and one of `ACTIVITIES`: shape (ranks, parts, activities); they add up to 1.
    """

    begin: float
    end: float
    ranks: Sequence[tuple[str, int]]
    shares: np.ndarray

    def spans(self) -> list[tuple[int, float, float, str]]:
        """What each rank did most in each part of the time, equal neighbours together: place of the rank, from, to."""
        step = (self.end - self.begin) / self.shares.shape[1]
        most = self.shares.argmax(axis=2)
        found = []
        for place, row in enumerate(most):
            edges = [0, *(np.flatnonzero(np.diff(row)) + 1).tolist(), row.size]
            for first, last in itertools.pairwise(edges):
                what = ACTIVITIES[row[first]]
                if what != NOTHING:
                    found.append((place, self.begin + first * step, self.begin + last * step, what))
        return found


def activities(results: Tables, run: str, *, parts: int = 480, most: int = 32) -> Activities | None:
    """Find what the ranks of a run did when; None if its operations were not recorded.

    Parameters
    ----------
    results
        An experiment.
    run
        Name of the run.
    parts
        Parts of the time.
    most
        Ranks at most: of more, equally many between those that are shown, and always the one that ended last.
    """
    table = results.scan("operations").filter(pl.col("run") == run)
    columns = table.select("workload", "rank", "kind", "inside_server", "sent_ns", "start_ns", "end_ns")
    rows = results.collect("operations", columns)
    if rows.is_empty():
        return None
    # What has not ended lasts until the run does.
    over = next((entry.simulated_ns for entry in results.manifest.runs if entry.run == run), None)
    rows = rows.with_columns(pl.col("end_ns").fill_null(max(over or 0.0, float(rows["start_ns"].max()))))  # type: ignore[arg-type]
    # Results may come from elsewhere: a time that is none has no place on the axis.
    rows = rows.filter(pl.col("start_ns").is_finite(), pl.col("end_ns").is_finite())
    if rows.is_empty():
        return None
    begin, end = float(rows["start_ns"].min()), float(rows["end_ns"].max())  # type: ignore[arg-type]
    if end <= begin:
        return None
    ranks = _shown(rows, most)
    keys = pl.DataFrame(
        {"workload": [workload for workload, _ in ranks], "rank": [rank for _, rank in ranks]},
        schema={"workload": pl.String(), "rank": pl.UInt32()},
    ).with_row_index("place")
    own = rows.with_columns(pl.col("workload").cast(pl.String)).join(keys, on=["workload", "rank"], how="inner")
    computes = pl.col("kind").is_in(OWN_TIME)
    # A message is under way from when it left, however long its receiver has been ready.
    moves = own.with_columns(pl.max_horizontal("start_ns", "sent_ns").alias("start_ns"))
    sets = [own.filter(computes), moves.filter(computes | ~pl.col("inside_server")), moves, own]
    covered = [_covered(rows.sort("place", "start_ns"), len(ranks), begin, end, parts) for rows in sets]
    # Each set holds the one before: what it adds is an activity.
    edges = [np.zeros_like(covered[0]), *covered, np.ones_like(covered[0])]
    shares = np.stack([after - before for before, after in itertools.pairwise(edges)], axis=2)
    return Activities(begin, end, ranks, shares)


def _shown(rows: pl.DataFrame, most: int) -> list[tuple[str, int]]:
    """Workload and number of the ranks that are shown."""
    ends = rows.group_by("workload", "rank", maintain_order=True).agg(pl.col("end_ns").max())
    ends = ends.with_columns(pl.col("workload").cast(pl.String)).sort("workload", "rank")
    ranks = [(workload, rank) for workload, rank, _ in ends.iter_rows()]
    if len(ranks) <= most:
        return ranks
    places = {round(place) for place in np.linspace(0, len(ranks) - 1, most)}
    last = int(ends["end_ns"].arg_max() or 0)
    if last not in places:
        places = places - {min(places - {0}, key=lambda place: abs(place - last))} | {last}
    return [ranks[place] for place in sorted(places)]


def _covered(rows: pl.DataFrame, ranks: int, begin: float, end: float, parts: int) -> np.ndarray:
    """How much of each part of the time lies within an operation of each rank: shape (ranks, parts), 0 to 1.

    `rows` are in order of their ranks' places, and then of their beginnings.
    """
    before = pl.col("end_ns").cum_max().shift(1).over("place")
    joined = (
        rows.with_columns((pl.col("start_ns") > before).fill_null(value=True).cum_sum().alias("span"))
        .group_by("place", "span", maintain_order=True)
        .agg(pl.col("start_ns").min(), pl.col("end_ns").max())
    )
    place = joined["place"].to_numpy().astype(np.int64)
    scale = parts / (end - begin)
    # A span covers what is left of the part in which it begins, and all later ones; its end takes as much away.
    within, after = np.zeros((ranks, parts)), np.zeros((ranks, parts + 1))
    for column, sign in (("start_ns", 1.0), ("end_ns", -1.0)):
        at = np.clip((joined[column].to_numpy() - begin) * scale, 0, parts)
        part = np.minimum(at.astype(np.int64), parts - 1)
        np.add.at(within, (place, part), sign * (part + 1 - at))
        np.add.at(after, (place, part + 1), sign)
    covered: np.ndarray = np.clip(within + after[:, :parts].cumsum(axis=1), 0.0, 1.0)
    return covered
