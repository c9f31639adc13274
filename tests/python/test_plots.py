"""Figures and tables in a notebook: the report's numbers, with a legend, and clear words where a choice is missing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import fixtures
import pytest
import vl_convert

from anabranch import Results, load
from anabranch.errors import StatisticsError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["fct_cdf", "fct_tail", "slowdown", "goodput"])
def test_a_figure_is_a_chart_with_a_legend(results: Results, name: str) -> None:
    spec = getattr(results.plot, name)().to_dict()
    text = json.dumps(spec)
    assert "currentColor" not in text
    assert '"legend": null' not in text
    svg = vl_convert.vegalite_to_svg(spec)
    for label in ("SCDP", "NDP", "DCTCP", "TCP NewReno"):
        assert svg.count(f">{label}<") == 1, "one legend, not one for each of colour, dash and marker"


def test_the_numbers_are_those_of_the_table(results: Results) -> None:
    spec = results.plot.slowdown(50).to_dict()
    data = [
        row
        for rows in spec["datasets"].values()
        for row in rows
        if row["series"] == "NDP" and row["bucket"] == "all sizes"
    ]
    from anabranch import stats

    table = stats.fct_table(results).filter(transport="ndp", bucket="all")
    assert data[0]["y"] == table["slowdown_p50"][0]


def test_a_sweep_point_has_to_be_named(swept: Results) -> None:
    with pytest.raises(StatisticsError, match="3 sweep points fit") as found:
        swept.plot.fct_cdf()
    assert "load=0.3" in (found.value.hint or "")
    with pytest.raises(StatisticsError, match="no sweep key 'lod'"):
        swept.plot.fct_cdf(lod=0.3)
    assert swept.plot.fct_cdf("<=10KB", load=0.3).to_dict()["title"]["text"] == "≤ 10 KB"


@pytest.mark.parametrize(("bucket", "words"), [("tiny", "no size bucket 'tiny'"), (">1MB", "no figure for '> 1 MB'")])
def test_sizes_that_are_not_there(tmp_path: Path, bucket: str, words: str) -> None:
    results = load(fixtures.write(tmp_path / "r", fixtures.Fixture(seeds=(1,), sessions=1, background=0)))
    with pytest.raises(StatisticsError, match=words):
        results.plot.fct_cdf(bucket)


def test_nothing_measured_is_said(results: Results) -> None:
    with pytest.raises(StatisticsError, match="nothing was measured over time"):
        results.plot.over_time()


def test_a_notebook_shows_what_was_found(results: Results, swept: Results) -> None:
    page = results._repr_html_()
    assert page.startswith("<p><b>Flows ≤ 10 KB, p99 FCT: ")
    assert "&#9733;" in page
    assert "load = 0.3" in swept._repr_html_()
