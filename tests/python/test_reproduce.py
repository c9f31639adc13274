"""The command, from scenarios to pages: what it finds, runs, keeps, draws, records and refuses."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner, Result

from anabranch import codec
from anabranch.cli import app, progress
from anabranch.cli.elsewhere import How
from anabranch.errors import AnabranchError
from anabranch.reproduce import Experiment, age, costs, documents, pages, record, registry, runner, versions, waiting
from anabranch.reproduce.rows import REDUCTIONS
from anabranch.running import plan as planning
from anabranch.running import speed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from anabranch.results.tables import Tables

import polars as pl

ROOT = Path(__file__).parents[2]
RUN = CliRunner()

TOY = """\
name = "toy"
repeat = 2

[fabric]
topology = "star"
hosts = 4

[transport]
name = "scdp"

[[workload]]
name = "sessions"
sizes = { law = "fixed", size = "1MB" }
placement = { pattern = "random" }
sessions = 4

[sweep]
"transport.scdp.initial_window" = [2, 12]
"""
WINDOW = "transport.scdp.initial_window"
PAPERS = ["scdp", "polyraptor", "ndp", "joy", "song"]


ABOUT = f"""\
title = "A toy"
question = "Does it run?"
section = "§0"
order = 1
quick = ["workload.sessions.sessions=2", 'sweep."{WINDOW}"=[4, 12]']

[rows.sessions]
from = "requests.requests"

[series]
scdp = [{{ transport = "scdp" }}]

[[figure]]
number = "99"
caption = "Toy"
kind = "means"
rows = "sessions"
series = "scdp"
value = "AVG(goodput_bps) / 1e9"
over = "{WINDOW}"
key = "a"
x = "window"
y = "goodput (Gbps)"

[[claim]]
key = "goodput"
statement = "mean goodput"
where = "§0, Fig. 99"
paper = 0.5
unit = "Gbps"
rows = "sessions"
filter = {{ "{WINDOW}" = 12 }}
value = "AVG(goodput_bps) / 1e9"
"""
EXPLAINED = (
    ABOUT
    + """\
explanation = "fast"

[explanation.fast]
kind = "arithmetic"
text = "Toys are {= 4 / 2|.0f} times as fast."
"""
)


def write(root: Path) -> None:
    """The files of one small experiment, and of the papers."""
    for order, paper in enumerate(PAPERS):
        folder = root / "scenarios" / paper
        folder.mkdir(parents=True)
        (folder / "paper.toml").write_text(f'order = {order}\nshort = "{paper}"\nreference = "A: {paper}"\n')
    folder = root / "scenarios/scdp/toy"
    folder.mkdir()
    (folder / "toy.toml").write_text(TOY)
    (folder / "experiment.toml").write_text(ABOUT)


def toy() -> Experiment:
    return registry.find(["scdp/toy"])[0]


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one small experiment."""
    write(tmp_path)
    for paper in PAPERS:
        page = tmp_path / documents.PAGE.format(paper)
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"# {paper}\n\n{documents.BEGIN}\n{documents.END}\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(speed, "calibrate", lambda: 1e6)
    return tmp_path


def invoke(*arguments: str) -> Result:
    return RUN.invoke(app, ["reproduce", *arguments], catch_exceptions=False)


# The registry.


def test_names_are_unique_and_of_a_paper() -> None:
    names = [one.name for one in registry.experiments()]
    assert len(names) == len(set(names))
    assert [paper.name for paper in registry.papers()] == [*PAPERS, "rivals", "ai"]


SIMULATED = [one for one in registry.experiments() if not one.calculate]


@pytest.mark.parametrize("experiment", SIMULATED, ids=lambda one: one.name)
def test_every_experiment_plans_in_both_sizes(experiment: Experiment, tmp_path: Path) -> None:
    full = runner.prepare(experiment, tmp_path)
    quick = runner.prepare(experiment, tmp_path, quick=True)
    for job in (full, quick):
        assert len({run.hash for run in job.plan.runs}) == len(job.plan.runs)
        assert all(run.packets > 0 for run in job.plan.runs)
    assert sum(run.packets for run in quick.plan.runs) < sum(run.packets for run in full.plan.runs)
    assert (full.folder.name + "-quick", full.folder.parent) == (quick.folder.name, quick.folder.parent)


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("fig13", "did you mean scdp/fig13?"),
        ("scdp/fig155", "did you mean scdp/fig15"),
        ("nothing", "`anabranch reproduce --list` lists them"),
    ],
)
def test_an_unknown_name_is_an_error_with_a_suggestion(wanted: str, hint: str) -> None:
    with pytest.raises(AnabranchError, match="no experiment is called") as caught:
        registry.find([wanted])
    assert hint in str(caught.value)
    result = invoke(wanted, "--quick")
    assert result.exit_code == 2
    assert hint in result.stderr


def test_a_paper_stands_for_its_experiments() -> None:
    assert registry.find(["ndp"]) == registry.of_paper("ndp")
    assert registry.find(["scdp/fig13", "scdp/"])[0].name == "scdp/fig13"
    assert len(registry.find(["scdp", "scdp/fig13"])) == len(registry.of_paper("scdp"))


# The command.


def test_it_runs_draws_compares_and_writes_pages(lab: Path) -> None:
    result = invoke("scdp/toy", "--quick")
    assert result.exit_code == 0
    assert "4 runs to do; about 1 s (estimated from a calibration on this machine)" in result.stderr
    assert "quick size: not judged" in result.stdout
    folder = lab / "out/reproduce/scdp/toy-quick"
    assert sorted(path.name for path in folder.iterdir()) == ["figures", "record.json", "report.html", "results"]
    assert sorted(path.name for path in (folder / "figures").iterdir()) == ["fig99.pdf", "fig99.svg", "fig99a.csv"]
    data = pl.read_csv(folder / "figures/fig99a.csv")
    assert data.columns == ["series", "x", "y", "low", "high"]
    assert data["x"].to_list() == [4.0, 12.0]
    page = (folder / "report.html").read_text()
    assert "Figure 99: Toy" in page
    assert "The quick size" in page
    assert not [line for line in page.splitlines() if line.startswith(("<link", "<script")) and "http" in line[:200]]
    index = (lab / "out/reproduce/index.html").read_text()
    assert 'href="scdp/toy-quick/report.html"' in index
    assert 'src="scdp/toy-quick/figures/fig99.svg"' in index
    # The full size takes the place of the quick one in the index.
    assert invoke("scdp", "--all", "--seeds", "1").exit_code == 0
    assert 'href="scdp/toy/report.html"' in (lab / "out/reproduce/index.html").read_text()
    full = (lab / "out/reproduce/scdp/toy/report.html").read_text()
    assert "unexplained" in full
    assert "<p>Of 1 claim at the paper&#39;s settings 1 is unexplained. 1 of these numbers is of one seed.</p>" in full
    assert "at the paper&#39;s settings" not in page, "the quick size is not judged"


def test_finished_runs_are_kept(lab: Path) -> None:
    assert invoke("scdp/toy").exit_code == 0
    runs = lab / "out/reproduce/scdp/toy/results/runs"
    assert len(list(runs.glob("*/flows.parquet"))) == 4
    result = invoke("scdp/toy")
    assert "no runs to do, 4 are there already" in result.stderr
    shutil.rmtree(runs / "p001-s2")
    stamps = {path: path.stat().st_mtime_ns for path in runs.glob("*/flows.parquet")}
    result = invoke("scdp/toy")
    assert "1 runs to do, 3 are there already" in result.stderr
    assert all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())
    assert (runs / "p001-s2/flows.parquet").is_file()
    assert "4 runs to do; about" in invoke("scdp/toy", "--fresh").stderr
    assert all(path.stat().st_mtime_ns > stamp for path, stamp in stamps.items())


def test_another_scenario_is_run_again(lab: Path) -> None:
    assert invoke("scdp/toy", "--seeds", "1").exit_code == 0
    file = lab / "scenarios/scdp/toy/toy.toml"
    file.write_text(TOY.replace("[2, 12]", "[2, 8, 12]"))
    assert "1 runs to do, 2 are there already" in invoke("scdp/toy", "--seeds", "1").stderr
    file.write_text(TOY.replace('"1MB"', '"2MB"'))
    assert "2 runs to do; about" in invoke("scdp/toy", "--seeds", "1").stderr


def test_an_interruption_keeps_finished_runs(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Slow enough that the question comes between the first run's end and the last one's.
    (lab / "scenarios/scdp/toy/toy.toml").write_text(
        TOY.replace('"1MB"', '"100MB"').replace("[2, 12]", "[2, 4, 8, 12]")
    )

    def interrupted(start: Any, console: Any, **_more: Any) -> tuple[Tables, int, None]:  # noqa: ANN401, ARG001
        return start(lambda state: state["runs_done"] < 1), 130, None

    monkeypatch.setattr(progress, "watched", interrupted)
    result = invoke("scdp/toy", "--threads", "1")
    assert result.exit_code == 130
    assert "the same command runs the others" in result.stderr
    assert not (lab / "out/reproduce/scdp/toy/report.html").exists()
    job = runner.prepare(toy(), lab / "out/reproduce")
    missing = job.missing()
    assert 0 < len(missing) < 8
    told: list[int] = []

    def hear(state: Mapping[str, Any]) -> bool:
        told.append(state["runs_kept"])
        return True

    results = runner.run(job, progress=hear)
    assert max(told) == 8 - len(missing)
    assert results.manifest.incomplete == ()
    first, second, *others = results.manifest.runs
    late, stalled = replace(first, status="time_limit"), replace(second, status="stalled")
    manifest = replace(results.manifest, runs=(late, stalled, *others))
    assert toy().incomplete(manifest) == (late, stalled)
    assert replace(toy(), open_ended=True).incomplete(manifest) == (stalled,)
    with pytest.raises(AnabranchError, match="1 of 8 runs are missing"):
        runner.finish(job, _without_one(results, lab))


def _without_one(results: Tables, folder: Path) -> Tables:
    """The same results with one run marked as interrupted."""
    data = json.loads((results.folder / "manifest.json").read_text())
    data["runs"][0]["status"] = "interrupted"
    (folder / "cut").mkdir()
    (folder / "cut/manifest.json").write_text(json.dumps(data))
    return type(results)(folder / "cut")


def test_a_decode_table_is_used_said_and_kept_apart(lab: Path) -> None:
    codec.bench(source_symbols=[1, 100], quick=True).write(lab / "my table.json")
    default = {run.hash for run in runner.prepare(toy(), lab, quick=True).plan.runs}
    for table, folder in (("measured", "decode-measured"), ("my table.json", "decode-my table")):
        result = invoke("scdp/toy", "--quick", "--decode-table", table)
        assert result.exit_code == 0, result.stderr
        home = lab / "out/reproduce" / folder
        assert (home / "index.html").is_file()
        manifest = json.loads((home / "scdp/toy-quick/results/manifest.json").read_text())
        assert all("measured on" in run["decode_latency"] for run in manifest["runs"])
        assert not default & {run["scenario_hash"] for run in manifest["runs"]}
        assert manifest["command"][-2:] == ["--decode-table", table]
        page = (home / "scdp/toy-quick/report.html").read_text()
        assert (
            f"decode latency of SCDP&#39;s blocks: table &#34;{'' if table in codec.TABLES else '../../../'}{table}"
            in page
        )
    assert not (lab / "out/reproduce/scdp").exists()
    # The table counts by its content.
    job = runner.prepare(toy(), lab / "out/reproduce/decode-my table", quick=True, decode_table="my table.json")
    assert job.missing() == []
    file = lab / "my table.json"
    file.write_text(file.read_text() + "\n")
    job = runner.prepare(toy(), lab / "out/reproduce/decode-my table", quick=True, decode_table="my table.json")
    assert len(job.missing()) == len(job.plan.runs)


@pytest.mark.parametrize(
    ("sweep", "why"),
    [
        ('"transport.scdp.decode_rate" = ["1Gbps", "2Gbps"]', "it compares decoders itself"),
        ('"transport.name" = ["ndp", "dctcp"]', "it decodes nothing"),
    ],
)
def test_experiments_without_a_decoder_to_choose_are_left_out(lab: Path, sweep: str, why: str) -> None:
    (lab / "scenarios/scdp/toy/toy.toml").write_text(TOY + sweep + "\n")
    result = invoke("scdp/toy", "--quick", "--decode-table", "measured")
    assert result.exit_code == 2
    assert f"scdp/toy: left out: {why}" in result.stderr
    assert "none of these experiments can use it" in result.stderr


def test_an_unknown_decode_table_is_an_error_with_a_hint(lab: Path) -> None:  # noqa: ARG001
    result = invoke("scdp/toy", "--decode-table", "none.json")
    assert result.exit_code == 2
    assert "--decode-table none.json: expected a file or measured" in result.stderr
    assert "hint: `anabranch codec bench --latency-table FILE` writes one" in result.stderr
    result = invoke("scdp/toy", "--decode-table", "measured", "--record")
    assert result.exit_code == 2
    assert "does not go with" in result.stderr


def test_the_list_says_runs_and_time(lab: Path) -> None:
    result = invoke("--list")
    assert result.exit_code == 0
    (row,) = [line for line in result.stdout.splitlines() if "scdp/toy" in line]
    assert row.split() == ["scdp/toy", "99a", "A", "toy", "4", "1", "s"]
    (lab / "scenarios/scdp/toy/toy.toml").write_text(TOY.replace("hosts", "hostss"))
    result = invoke("--list")
    assert result.exit_code == 0
    assert "cannot be planned" in result.stdout


def test_nothing_named_is_an_error(lab: Path) -> None:  # noqa: ARG001
    result = invoke()
    assert result.exit_code == 2
    assert "which experiment?" in result.stderr


def test_a_foreign_folder_is_left_alone(lab: Path) -> None:
    home = lab / "out/reproduce/scdp/toy/results"
    home.mkdir(parents=True)
    (home / "thesis.tex").write_text("years")
    result = invoke("scdp/toy")
    assert result.exit_code == 2
    assert "thesis.tex" in result.stderr
    assert (home / "thesis.tex").read_text() == "years"


# Records.


def test_recording_writes_record_costs_and_tables(lab: Path) -> None:
    result = invoke("scdp/toy", "--record")
    assert result.exit_code == 0
    file, cost = record.path(lab, "scdp/toy"), costs.path(lab, "scdp/toy")
    kept = record.read(file)
    assert kept is not None
    assert (kept.quick, kept.seeds, list(kept.claims)) == (False, (1, 2), ["goodput"])
    page = (lab / "docs/fidelity/scdp.md").read_text()
    assert "| **`scdp/toy`** full, 2 seeds |" in page
    assert "| mean goodput (§0, Fig. 99) | 0.5 Gbps | **" in page
    assert "**unexplained**" in page
    assert "Nothing has been recorded yet." in (lab / "docs/fidelity/ndp.md").read_text()
    # What is recorded is the same for every run of the same version; times are apart.
    before, times = file.read_bytes(), json.loads(cost.read_text())
    assert b"seconds" not in before
    assert [run["point"] for run in times["sizes"]["full"]["runs"]] == [{WINDOW: 2}, {WINDOW: 12}]
    assert invoke("scdp/toy", "--record", "--fresh").exit_code == 0
    assert file.read_bytes() == before
    # The quick size does not replace the full one, but its times are kept.
    result = invoke("scdp/toy", "--quick", "--record")
    assert "holds the full size and is kept" in result.stderr
    assert file.read_bytes() == before
    assert set(json.loads(cost.read_text())["sizes"]) == {"full", "quick"}
    # Estimates now come from the record.
    assert "(estimated from recorded times)" in invoke("scdp/toy", "--fresh").stderr


def test_the_check_fails_for_what_is_unexplained(lab: Path) -> None:
    assert invoke("--record").exit_code == 0
    assert invoke("--check").exit_code == 0
    assert invoke("scdp/toy", "--record").exit_code == 0
    result = invoke("--check")
    assert result.exit_code == 1
    assert "scdp/toy, goodput: " in result.stdout
    assert "unexplained" in result.stdout

    (lab / "scenarios/scdp/toy/experiment.toml").write_text(EXPLAINED)
    registry.load.cache_clear()
    assert invoke("--check").exit_code == 1  # the page is that of the older definition
    assert invoke("--record").exit_code == 0
    assert "Toys are 2 times as fast." in (lab / "docs/fidelity/scdp.md").read_text()
    assert invoke("--check").exit_code == 0


def test_the_check_says_what_is_single_or_not_recorded(lab: Path) -> None:
    about = lab / "scenarios/scdp/toy/experiment.toml"
    about.write_text(EXPLAINED.replace("{= 4 / 2|.0f}", "(`anabranch run scenarios/scdp/toy/toy.toml`) {once:2.5}"))
    assert invoke("scdp/toy", "--record", "--seeds", "1").exit_code == 0
    result = invoke("--check")
    assert "remark: scdp/toy: one seed: goodput" in result.stderr
    assert "remark: scdp/toy: explanation.fast: measured once, not recorded: 2.5, what a command shows" in result.stderr
    # A reference to what is not there fails, and so does an experiment that is not there.
    about.write_text(EXPLAINED.replace("{= 4 / 2|.0f}", "{claim:fast}"))
    registry.load.cache_clear()
    result = invoke("--check")
    assert result.exit_code == 2
    assert "explanation.fast: scdp/toy: {claim:fast}: no claim is called 'fast'" in " ".join(result.stderr.split())
    about.write_text(EXPLAINED + 'experiments = ["scdp/tay"]\n')
    registry.load.cache_clear()
    result = invoke("--check")
    assert result.exit_code == 2
    assert "explanation.fast: experiments: 'scdp/tay' is not among the experiments" in " ".join(result.stderr.split())


def test_the_check_fails_for_records_of_an_older_model(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (lab / "scenarios/scdp/toy/experiment.toml").write_text(EXPLAINED)
    (lab / waiting.FILE).parent.mkdir(parents=True, exist_ok=True)
    (lab / waiting.FILE).write_text(f"{waiting.HEAD}\nscdp/toy\n")
    assert invoke("scdp/toy", "--record", "--seeds", "1").exit_code == 0
    assert waiting.read(lab) == {}, "recording takes it off the list"
    file = record.path(lab, "scdp/toy")
    kept = record.read(file)
    assert kept is not None
    there = versions.now(toy())
    assert there is not None
    assert (kept.model, kept.parts) == (there.model, there.parts)
    assert "Older than the model" not in (lab / "docs/fidelity/scdp.md").read_text()
    assert invoke("--check").exit_code == 0
    part = next(iter(there.parts))
    again = "`anabranch reproduce scdp/toy --record` makes it again"
    old = {
        f"older than a part of the model: {part} (version {there.parts[part]}, now 77)": kept,
        f"older than the model: recorded with version 1, now {there.model}": replace(kept, model=1),
        # Nothing is invented for a record that says neither its model nor a commit that is here.
        "recorded before models were kept": replace(kept, model=None, parts=None, commit="0123456789"),
        "recorded before parts of the model were kept": replace(kept, parts=None, commit=None),
    }
    parts = {**there.parts, part: 77}
    for said, made in old.items():
        with monkeypatch.context() as patch:
            if made is kept:
                patch.setattr(planning, "model_parts", lambda *_: parts)
            record.write(file, made)
            assert invoke("--pages").exit_code == 0
            page = (lab / "docs/fidelity/scdp.md").read_text()
            assert "**Older than the model** are 1 of 1 records" in page
            assert "| **`scdp/toy`** full, 1 seed, older than the model |" in page
            result = invoke("--check")
            assert result.exit_code == 1
            assert f"scdp/toy: {said}; {again}" in " ".join(result.stdout.split())


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("words", [["scdp/toy"], ["--record"], ["--all"], ["--check"]])
def test_writing_pages_goes_with_nothing_else(words: list[str]) -> None:
    result = invoke("--pages", *words)
    assert result.exit_code == 2
    assert "--pages goes with no names and no other task" in result.stderr


SUM = """\
title = "A sum"
question = "Is it right?"
section = "§0"
order = 1
calculate = "sums.loads"

[series]
ndp = [{ column = "what" }]

[[figure]]
number = "98"
caption = "Loads"
kind = "bars"
rows = "loads"
series = "ndp"
value = "FIRST(y)"
over = "x"

[[claim]]
key = "load"
statement = "load of a core switch"
where = "§0"
paper = 5.333333333333333
tolerance = 0.0
rows = "loads"
value = "FIRST(y)"
"""


@pytest.fixture
def calculation(lab: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[float, float], None]:
    """Makes an experiment without a simulation, of which the paper says 16/3."""

    def make(value: float, tolerance: float) -> None:
        def loads() -> dict[str, pl.DataFrame]:
            return {"loads": pl.DataFrame({"x": ["core"], "y": [value], "what": ["NDP"]})}

        module = ModuleType(f"{REDUCTIONS}.sums")
        loads.__module__ = module.__name__
        module.loads = loads  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        shutil.rmtree(lab / "scenarios/scdp/toy")
        folder = lab / "scenarios/scdp/sum"
        folder.mkdir()
        (folder / "experiment.toml").write_text(SUM.replace("tolerance = 0.0", f"tolerance = {tolerance}"))

    return make


def test_a_calculation_needs_no_scenario_and_comes_out_exactly(
    lab: Path, calculation: Callable[[float, float], None]
) -> None:
    calculation(16 / 3, 0.0)
    # It has one size.
    result = invoke("scdp/sum", "--quick", "--record")
    assert result.exit_code == 0
    assert "no runs to do" in result.stderr
    page = (lab / "docs/fidelity/scdp.md").read_text()
    assert "| **`scdp/sum`** calculated |" in page
    assert "| load of a core switch (§0) | 5.33333 | 5.33 | exact |" in page
    assert invoke("--check").exit_code == 0
    assert (lab / "out/reproduce/scdp/sum/figures/fig98.svg").is_file()
    report = (lab / "out/reproduce/scdp/sum/report.html").read_text()
    assert "calculated, without a simulation" in report
    assert "Results as Parquet" not in report
    assert "calculated" in (lab / "out/reproduce/index.html").read_text()
    assert "scdp/sum" in invoke("--list").stdout
    assert "it simulates nothing" in invoke("scdp/sum", "--decode-table", "measured").stderr


def test_what_was_run_is_recorded_before_pages_are_made_of_it(
    lab: Path, calculation: Callable[[float, float], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def write(outcome: runner.Outcome) -> None:
        raise AnabranchError(f"{outcome.job.experiment.name}: {{claim:lost}}: no such claim")

    calculation(16 / 3, 0.0)
    monkeypatch.setattr(pages, "write", write)
    result = invoke("scdp/sum", "--record")
    assert result.exit_code == 2
    assert "{claim:lost}" in result.stderr
    assert record.read(record.path(lab, "scdp/sum")) is not None


def test_a_text_that_no_page_can_be_made_of_is_a_problem_among_others(
    lab: Path, calculation: Callable[[float, float], None]
) -> None:
    calculation(5.333, 0.0)
    assert invoke("scdp/sum", "--record").exit_code == 0
    file = lab / "scenarios/scdp/sum/experiment.toml"
    text = file.read_text().replace("order = 1\n", 'order = 1\nnotes = "It is {claim:load|d}."\n', 1)
    file.write_text(text)
    registry.load.cache_clear()
    result = invoke("--check")
    assert (result.exit_code, "2 problems" in result.stderr) == (1, True), result.output


@pytest.mark.parametrize(("tolerance", "problems"), [(0.0, 1), (0.001, 0)])
def test_a_calculation_that_is_not_exact_is_unexplained(
    lab: Path, calculation: Callable[[float, float], None], tolerance: float, problems: int
) -> None:
    calculation(5.333, tolerance)
    assert invoke("scdp/sum", "--record").exit_code == 0
    assert invoke("--check").exit_code == problems
    said = "**unexplained**" if problems else "within 0.1 %"
    assert said in (lab / "docs/fidelity/scdp.md").read_text()


def test_the_pages_are_those_that_the_records_make() -> None:
    for page, text in documents.pages(ROOT):
        assert page.read_text(encoding="utf-8") == text, "run `anabranch reproduce --pages`"


def test_what_waits_to_be_recorded_again_is_listed_and_the_list_shrinks() -> None:
    experiments = registry.experiments()
    names = waiting.read(ROOT)
    old = age.old(ROOT, experiments, record.read_all(ROOT, experiments))
    assert [f"{name}: {said}" for name, said in old.items() if name not in names] == [], "record them again"
    assert [name for name in names if name not in old] == [], "they wait no more: run `anabranch reproduce --pages`"
    assert waiting.added(ROOT) == [], "nothing is put on the list while the model stays the same"


def test_what_is_put_on_the_list_is_found(tmp_path: Path) -> None:
    def commit(model: int, *names: str) -> None:
        for file, text in ((versions.SOURCE, f"const MODEL: u32 = {model};"), (waiting.FILE, "\n".join(names) + "\n")):
            (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / file).write_text(text)
        git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run([*git, "add", "."], check=True)
        subprocess.run([*git, "commit", "--quiet", "--message", "one"], check=True)

    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    commit(6, "scdp/a", "scdp/b")
    commit(6, "ndp/a was scdp/a", "scdp/b")
    assert waiting.added(tmp_path) == [], "another name is no other experiment"
    commit(6, "scdp/b")
    assert waiting.added(tmp_path) == []
    commit(6, "scdp/b", "scdp/c", "scdp/a")
    assert waiting.added(tmp_path) == ["scdp/a", "scdp/c"]
    commit(7, "scdp/b", "scdp/c", "scdp/a")
    assert waiting.added(tmp_path) == [], "another model makes other records old"


def test_every_record_is_of_an_experiment() -> None:
    known = {record.path(ROOT, one.name) for one in registry.experiments()}
    known |= {costs.path(ROOT, one.name) for one in registry.experiments()}
    found = set((ROOT / "docs/fidelity/data").glob("*/*.json"))
    assert found <= known


# Estimates.


def planned(point: dict[str, Any], packets: int) -> planning.PlannedRun:
    return planning.PlannedRun(str(point), point, 1, "scdp", "h", 4, 1, packets, 0, 0)


def test_estimates_use_recorded_times_then_packets() -> None:
    runs = [planned({"w": 1}, 1000), planned({"w": 2}, 3000)]
    plain = [*speed.predict(runs, speed=1000.0).values()]
    assert (plain, speed.seconds(plain, 1)) == ([1.0, 3.0], 4.0)
    # The longest run bounds what threads can do.
    assert speed.seconds(plain, 2) == 3.0
    # Recorded on a machine of half the speed, 10 s for 1000 packets: 5 s here, and 15 s for the other run.
    times = speed.Times(500.0, {speed.point_key({"w": 1}): 10.0}, 1000.0)
    assert [*speed.predict(runs, times, speed=1000.0).values()] == [5.0, 15.0]
    # Of a point without packets: as long as the others.
    assert [*speed.predict([planned({"w": 3}, 0)], times, speed=1000.0).values()] == [5.0]
    assert speed.seconds([*speed.predict([], times, speed=1000.0).values()], 0) == 0.0


def test_estimates_of_few_large_runs_count_on_the_cores_that_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "cores", lambda threads: threads or 16)
    large, small = replace(planned({"w": 1}, 2_900_000), hosts=128), planned({"w": 2}, 2_000_000)
    alone = speed.predict([large, small], speed=1e6)
    assert [*speed.shared([large, small], alone, 0).values()] == [2.9 / speed.GAIN, 2.0]
    assert speed.shared([large, small], alone, 2) == alone, "each takes one core"
    assert [*speed.shared([large], speed.predict([large], speed=1e7), 0).values()] == [0.29], "it ends too soon"
    assert (How({}).time([large]), How({"threads": 1}).time([large])) == (
        "about 2 s on 4 threads",
        "about 3 s on 1 thread",
    )
    assert How({"on": "local:4"}).remaining([large]).seconds(0) == 2.9


def test_runs_whose_cost_is_recorded_take_one_core_each(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001
    asked: list[int] = []
    original = runner.run

    def heard(job: runner.Job, **options: Any) -> Tables:  # noqa: ANN401
        asked.append(options["threads"])
        return original(job, **options)

    monkeypatch.setattr(runner, "run", heard)
    monkeypatch.setattr(speed, "cores", lambda threads: threads or 64)
    assert invoke("scdp/toy", "--record").exit_code == 0
    assert invoke("scdp/toy", "--fresh").exit_code == 0
    assert asked == [len(runner.prepare(toy(), Path()).plan.runs), 0]


def test_times_that_are_none_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.cost.json"
    assert costs.read(file, quick=False) is None
    file.write_text("[]")
    with pytest.raises(AnabranchError, match="not a record of costs"):
        costs.read(file, quick=False)


def test_calibration_measures_something() -> None:
    assert 1e3 < speed.calibrate() < 1e9


# The page in a browser.


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("page")
    write(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        job = runner.prepare(toy(), folder / "out")
        outcome = runner.finish(job, runner.run(job))
        pages.write(outcome)
        yield pages.write_index(folder / "out")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_draw_in_silence(browser: Any, page: Path, scheme: str) -> None:  # noqa: ANN401
    tab = browser.new_page(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    said: list[str] = []
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(page.as_uri())
    assert tab.locator("img").evaluate("image => image.complete && image.naturalWidth") > 100
    tab.get_by_role("link", name="A toy").click()
    tab.wait_for_selector("html[data-ready=yes]", timeout=60_000)
    assert tab.locator(".chart svg .mark-line path").count() == 1
    assert tab.locator("text=unexplained").count() >= 1
    for width in (1280, 700):
        tab.set_viewport_size({"width": width, "height": 900})
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert said == []
    tab.close()
