"""Slowdown against the size of flows: the groups, the numbers, and the chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fixtures
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anabranch import load, stats
from anabranch.errors import StatisticsError
from anabranch.results.by_size import BEYOND, EACH, LEAST, MOST, groups_for, size_groups, slowdown_by_size

if TYPE_CHECKING:
    from anabranch import Results


@given(st.lists(st.integers(1, 30), min_size=1, max_size=200), st.integers(1, 25))
def test_every_flow_is_in_the_first_group_that_holds_its_size(sizes: list[int], wanted: int) -> None:
    groups = size_groups(np.array(sizes), wanted)
    assert 1 <= len(groups) <= wanted
    assert groups.upper[-1] == max(sizes)
    places = pl.DataFrame({"size_bytes": sizes}).select(groups.of()).to_series()
    for size, place in zip(sizes, places, strict=True):
        assert size <= groups.upper[place]
        assert place == 0 or size > groups.upper[place - 1]
    counts = np.bincount(places.to_numpy(), minlength=len(groups))
    assert np.allclose(np.cumsum(counts) / len(sizes), groups.share)
    assert counts.min() > 0


def test_sizes_that_all_differ_make_equal_groups() -> None:
    groups = size_groups(np.arange(1, 1001), 20)
    assert groups.upper.tolist() == list(range(50, 1001, 50))
    assert np.allclose(groups.middle, np.arange(0.025, 1, 0.05))
    assert (groups.size_at(0.1), groups.size_at(0.11), groups.size_at(1.0)) == (100, 150, 1000)


def flows(count: int, *, unfinished: int = 0) -> pl.DataFrame:
    """Of one seed: sizes 1, 2, ..., each with its size as slowdown."""
    sizes = np.arange(1, count + 1)
    slowdown = [None if n < unfinished else float(size) for n, size in enumerate(sizes)]
    return pl.DataFrame({"transport": "ndp", "seed": 1, "size_bytes": sizes, "slowdown": slowdown})


@pytest.mark.parametrize(
    ("quantile", "flow_count", "groups"),
    [
        (0.99, LEAST * 100 * BEYOND - 1, None),
        (0.99, LEAST * 100 * BEYOND, LEAST),
        (0.5, LEAST * EACH - 1, None),
        (0.5, LEAST * EACH, LEAST),
        (0.5, 100_000, MOST),
        (0.999, 10_000, 5),
    ],
)
def test_a_percentile_needs_flows_beyond_it(quantile: float, flow_count: int, groups: int | None) -> None:
    found = groups_for(flows(flow_count), ["transport"], quantile)
    assert (None if found is None else len(found)) == groups


def test_few_sizes_and_flows_that_did_not_finish_make_no_groups() -> None:
    assert groups_for(flows(1000).with_columns(pl.col("size_bytes") % 3), ["transport"], 0.5) is None
    assert groups_for(flows(1000, unfinished=1000), ["transport"], 0.5) is None
    found = groups_for(flows(1000, unfinished=500), ["transport"], 0.5)
    assert found is not None
    assert found.upper[0] > 500


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return load(fixtures.write(tmp_path_factory.mktemp("results") / "many", fixtures.Fixture(sessions=1000)))


def test_the_table_is_the_mean_over_seeds_of_what_numpy_says(many: Results) -> None:
    table = slowdown_by_size(many, by=["transport"], quantile=0.99)
    finite = many.flows.filter(stats.FINITE & pl.col("slowdown").is_not_null())
    for (transport,), rows in table.group_by("transport"):
        below = 0.0
        for row in rows.sort("share").to_dicts():
            inside = pl.col("size_bytes").is_between(below, row["up_to_bytes"], closed="right")
            own = finite.filter(inside & (pl.col("transport") == transport))
            each = [np.quantile(one["slowdown"].to_numpy(), 0.99) for _, one in own.group_by("seed")]
            mean, half = stats.interval(each)
            assert row["slowdown"] == pytest.approx(mean)
            assert row["slowdown_ci"] == pytest.approx(half)
            assert (row["seeds"], row["samples"]) == (3, 3)
            below = row["up_to_bytes"]


def test_too_few_flows_give_no_rows_and_an_error_that_tells_what_there_is(results: Results) -> None:
    assert slowdown_by_size(results, by=["transport"], quantile=0.999).is_empty()
    with pytest.raises(StatisticsError, match=r"p99\.9 slowdown by size"):
        results.plot.slowdown_by_size(99.9)
    with pytest.raises(StatisticsError, match=r"expected 50, 99 or 99\.9"):
        results.plot.slowdown_by_size(90)


def test_sweep_points_are_not_mixed_unasked(swept: Results) -> None:
    with pytest.raises(StatisticsError, match="mixes flows of different load"):
        slowdown_by_size(swept, by=["transport"])
    both = slowdown_by_size(swept, quantile=0.5)
    assert set(both.columns) >= {"load", "transport", "slowdown"}


@pytest.mark.usefixtures("checked_charts")
def test_the_chart_has_a_point_for_each_group_of_each_transport(many: Results) -> None:
    spec = many.plot.slowdown_by_size(99).to_dict()
    (data,) = spec["datasets"].values()
    table = slowdown_by_size(many, by=["transport"], quantile=0.99)
    assert len(data) == table.height
    assert all(1 <= row["low"] <= row["y"] <= row["high"] for row in data)
