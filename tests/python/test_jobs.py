"""Jobs: from the example scenario to how long each takes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

import anabranch
from anabranch.results import schema
from anabranch.results.findings import findings
from anabranch.results.jobs import TOLD, job_table

if TYPE_CHECKING:
    from anabranch import Results

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "scenarios/examples/all-reduce.toml"
SMALL = ["workload.gradients.job.collective.size=160KB"]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return anabranch.run(EXAMPLE, SMALL, out=tmp_path_factory.mktemp("jobs") / "r", seeds=2)


def test_ranks_load_and_the_job_takes_as_long_as_the_last(three: Results) -> None:
    ranks = three.ranks
    assert set(schema.RANKS) < set(ranks.columns)
    assert ranks.height == 3 * 2 * 16
    table = job_table(three)
    assert table["ranks"].to_list() == [16] * 3
    assert table["unfinished"].to_list() == [0] * 3
    key = "workload.gradients.job.collective.algorithm"
    for row in table.to_dicts():
        ends = ranks.filter(pl.col(key) == row[key]).group_by("seed").agg(pl.col("end_ns").max())
        assert row["step_ns"] == pytest.approx(ends["end_ns"].mean())
        # It computes nothing.
        assert row["exposed_share"] == 1
        # All that crosses a link of 100 Gbps, at least.
        bytes_least = {"ring": 2 * 15 / 16, "halving-doubling": 2 * 15 / 16, "recursive-doubling": 4}[row[key]] * 160e3
        assert row["step_ns"] > bytes_least * 8 / 100


def test_the_first_sentences_are_how_long_jobs_take(three: Results) -> None:
    found = findings(three)
    assert [sentence.split(":")[0] for sentence in found[:3]] == [
        f"gradients (algorithm {name})" for name in ("ring", "halving-doubling", "recursive-doubling")
    ]
    assert all(
        re.search(r": [0-9.]+( ± [0-9.]+)? µs, all of it communication that no", sentence) for sentence in found[:3]
    )


def test_of_many_jobs_the_fastest_and_the_slowest_are_told(tmp_path: Path) -> None:
    ranks = [2, 4, 8, 16]
    sweep = {"sizes": ["16KB", "32KB"], "ranks": ranks}
    text = (
        f'sweep={{ "workload.gradients.job.collective.size" = {sweep["sizes"]}, '
        f'"workload.gradients.job.collective.ranks" = {ranks} }}'
    ).replace("'", '"')
    many = anabranch.run(EXAMPLE, [text], out=tmp_path / "r", seeds=1)
    assert job_table(many).height == 8 > TOLD
    told = [sentence for sentence in findings(many) if sentence.startswith("gradients")]
    assert len(told) == 2
    assert "16.0 KB" in told[0] or "16KB" in told[0]


def test_ranks_that_do_not_end_are_counted(tmp_path: Path) -> None:
    stopped = anabranch.run(EXAMPLE, [*SMALL, "sweep={}", 'run.time_limit="5us"'], out=tmp_path / "r", seeds=1)
    assert stopped.ranks["end_ns"].null_count() == 16
    assert findings(stopped)[0] == "gradients: 16 of 16 ranks did not end"
    (row,) = job_table(stopped).to_dicts()
    assert (row["unfinished"], row["step_ns"], row["exposed_share"]) == (16, None, None)


@pytest.mark.parametrize("page", ["reference/results.md", "how-to/run-a-job.md"])
def test_the_step_time_of_the_pages(page: str, three: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(anabranch, "load", lambda _: three)
    (code,) = re.findall(
        r"^```python\n(ranks.*?)^```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    )
    names = {"anabranch": anabranch, "pl": pl}
    exec(code.replace("ranks.group_by", "step = ranks.group_by"), names)
    frame = names["step"]
    assert isinstance(frame, pl.DataFrame)
    assert frame["step_ns"].mean() == pytest.approx(job_table(three)["step_ns"].mean())


def test_a_run_without_jobs_has_no_ranks(tmp_path: Path) -> None:
    results = anabranch.run(ROOT / "scenarios/examples/hello.toml", out=tmp_path / "r")
    assert results.ranks.is_empty()
    assert job_table(results).is_empty()
    assert not (tmp_path / "r/runs/p000-s1/ranks.parquet").exists()
