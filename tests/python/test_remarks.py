"""What does not fit the fabric is said in the dry run, under the table, in the report and in JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner, Result

import anabranch
from anabranch.cli.main import app
from anabranch.errors import ResultError
from anabranch.results import manifest
from anabranch.results.manifest import Remark
from anabranch.results.notes import notes
from anabranch.results.remarks import MOST_LINES, NAMED, remarked
from anabranch.showing import report

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("anabranch._core")

SCENARIO = """
repeat = 2
fabric = { topology = "leaf-spine", leaves = 2, spines = 1, hosts_per_leaf = 4, rate = "100Gbps", delay = "1us" }
transport = { name = "ndp" }
[[workload]]
name = "web"
arrivals = { law = "poisson", load = 0.6 }
sizes = { law = "fixed", size = "20KB" }
placement = { pattern = "random" }
sessions = 20
[sweep]
"transport.name" = ["ndp", "dctcp"]
"""
WINDOW = "ndp: a window of 12 packets fills 17 % of the longest path (needs 71: 8500ns at 100Gbps)"
LOAD = "web: the load asks for 137 % of what leaf0-spine0 carries"


def invoke(*argv: str) -> Result:
    return CliRunner().invoke(app, list(argv))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "fast.toml"
    path.write_text(SCENARIO)
    return path


def test_the_dry_run_says_what_does_not_fit(file: Path) -> None:
    dry = invoke("run", str(file), "--dry-run")
    lines = [line for line in dry.stdout.splitlines() if line.startswith("note: ")]
    assert sum(WINDOW in line for line in lines) == 1, dry.stdout
    assert sum(LOAD in line for line in lines) == 1, dry.stdout
    window = next(line for line in lines if WINDOW in line)
    assert "dctcp: a receive window of 65535B fills" in window
    assert window.endswith('(hint: transport.window = "bdp" makes the windows of all transports follow the fabric)')
    data = json.loads(invoke("run", str(file), "--dry-run", "--json").stdout)
    assert WINDOW in [remark["text"] for remark in data["runs"][0]["remarks"]]
    fitting = invoke("run", str(file), "--dry-run", "transport.window=bdp", "workload.web.arrivals.load=0.3")
    assert "note: " not in fitting.stdout, fitting.stdout
    assert "warning" not in fitting.stderr, fitting.stderr


def test_the_load_is_a_warning_before_the_run(file: Path) -> None:
    dry = invoke("run", str(file), "--dry-run")
    assert LOAD in dry.stderr, dry.stderr
    assert "workload[0].arrivals.load" in dry.stderr
    assert "hint: load = 0.4" in dry.stderr


def test_results_keep_what_does_not_fit(file: Path, tmp_path: Path) -> None:
    results = anabranch.run(file, out=tmp_path / "out")
    found = notes(results)
    assert sum(WINDOW in note for note in found) == 1, found
    assert sum(LOAD in note for note in found) == 1, found
    assert "fills 17 % of the longest path" in report.html(results)
    shown = invoke("report", str(tmp_path / "out")).stdout
    assert "fills 17 %" in " ".join(shown.split())
    # The dry run, the plan and the manifest say the same.
    planned = anabranch.plan(file).runs
    assert [run.remarks for run in planned] == [run.remarks for run in results.manifest.runs]
    assert all(run.remarks for run in planned)


def test_many_remarks_take_few_lines() -> None:
    one = [Remark(f"text {n}", "hint") for n in range(NAMED + 3)]
    assert remarked([one, one]) == ["; ".join(f"text {n}" for n in range(NAMED)) + "; and 3 more (hint: hint)"]
    several = [[Remark(f"text {n}", f"hint {n}")] for n in range(MOST_LINES + 2)]
    assert len(remarked(several)) == MOST_LINES + 1
    assert remarked(several)[-1] == "and 2 more remarks, in manifest.json"
    assert remarked([[Remark("text")]]) == ["text"]
    # What fits depends on headers, and so on the transport; what does not fit is said once.
    assert remarked([[Remark("text", "one")], [Remark("text", "two")]]) == ["text (hint: one)"]
    assert remarked([]) == []


def test_older_manifests_have_none_and_broken_ones_are_refused() -> None:
    run = {"run": "p000-s1", "point": {}, "seed": 1, "transport": "ndp", "status": "complete"}
    head = {"schema": 1, "anabranch_version": "0", "command": [], "scenario_file": "a.toml", "scenario_toml": ""}
    assert manifest.parse(json.dumps({**head, "runs": [run]})).runs[0].remarks == ()
    told = {**run, "remarks": [{"text": "a", "hint": None}, {"text": "b", "hint": "c"}]}
    assert manifest.parse(json.dumps({**head, "runs": [told]})).runs[0].remarks == (Remark("a"), Remark("b", "c"))
    for wrong in ("a", [1], [{"hint": "a"}], [{"text": 1}]):
        with pytest.raises(ResultError, match="remarks"):
            manifest.parse(json.dumps({**head, "runs": [{**run, "remarks": wrong}]}))
