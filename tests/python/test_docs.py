"""The documents: their Python runs, their links lead somewhere, and no scenario in them is not TOML."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import fixtures
import pytest

from anabranch.reproduce import comparison, registry, runner

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("crates/*/*.md"), *ROOT.glob("crates/*/docs/*.md")]


def blocks(page: Path, language: str) -> Iterator[str]:
    text = re.sub(r"^  (?=\S| )", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    yield from re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


@pytest.mark.parametrize("page", ["docs/tutorial/first-experiment.md", "docs/how-to/read-results.md"])
def test_python_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("first", "demo"):
        fixtures.write(tmp_path / "out" / name, fixtures.Fixture(series=True))
    found = list(blocks(ROOT / page, "python"))
    assert found
    namespace: dict[str, object] = {}
    for code in found:
        exec(code, namespace)


@pytest.mark.parametrize("name", ["fit-volumes", "dimension-a-link", "forecast-a-bill"])
def test_python_about_volumes_runs(name: str) -> None:
    found = list(blocks(ROOT / f"docs/how-to/{name}.md", "python"))
    assert found
    for code in found:
        exec(code, {})


def test_python_about_driving_the_simulator_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = blocks(ROOT / "docs/how-to/drive-the-simulator-with-traffic.md", "python")
    exec(code, {})


def test_python_about_the_codec_runs() -> None:
    (code,) = blocks(ROOT / "docs/how-to/use-the-codec.md", "python")
    exec(code, {})


def test_c_about_the_codec_is_in_its_example() -> None:
    (code,) = blocks(ROOT / "docs/how-to/use-the-codec.md", "c")
    example = (ROOT / "crates/raptorq-c/examples/roundtrip.c").read_text(encoding="utf-8")
    assert [line for line in code.splitlines() if line.strip() not in example] == []


def test_the_example_of_an_experiment_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = ROOT / "docs/how-to/add-an-experiment.md"
    folder = tmp_path / "scenarios/scdp/fig99"
    folder.mkdir(parents=True)
    shutil.copy(ROOT / "scenarios/scdp/paper.toml", folder.parent)
    for name, text in zip(("fig99.toml", "experiment.toml"), blocks(page, "toml"), strict=True):
        (folder / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    (experiment,) = registry.find(["scdp"])
    job = runner.prepare(experiment, tmp_path / "out", quick=True)
    outcome = runner.finish(job, runner.run(job))
    assert [panel.data.is_empty() for figure in outcome.figures for panel in figure.panels] == [False, False]
    told = comparison.rows([experiment], {"scdp/fig99": outcome.record})[0].explanation
    assert "0.957 Gbps are the most; the paper's 0.900 Gbps leave 0.057" in " ".join(told.split())
    assert outcome.record.claims["large-scdp"].mean == pytest.approx(0.6, abs=0.35)


def test_the_tutorials_scenario_is_toml() -> None:
    (scenario,) = blocks(ROOT / "docs/tutorial/first-experiment.md", "toml")
    assert tomllib.loads(scenario)["name"] == "first"
