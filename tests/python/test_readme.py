"""README.md: its commands work in the order in which they are printed; the program makes its table and its figure."""

from __future__ import annotations

import importlib.util
import re
import shlex
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import TYPE_CHECKING

import fixtures
import pytest
from typer.testing import CliRunner

import anabranch
from anabranch.cli import app
from anabranch.running import outputs

if TYPE_CHECKING:
    from types import ModuleType

    from conftest import StandIn

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def tool() -> ModuleType:
    loader = SourceFileLoader("readme", str(ROOT / "tools/readme"))
    spec = importlib.util.spec_from_loader("readme", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def words(shown: str) -> list[list[str]]:
    """The words of each line that do not depend on the numbers: metrics, sizes, transports."""
    units = {"s", "ms", "µs", "ns", "bps", "kbps", "Mbps", "Gbps", "k", "flows", "flow", "unfinished"}
    lines = (re.sub(r"[^\w\s]", " ", line) for line in shown.splitlines())
    return [[word for word in line.split() if not word.isdecimal() and word not in units] for line in lines]


def test_the_table_is_one_that_the_program_prints(tmp_path: Path) -> None:
    made = tool().render(fixtures.write(tmp_path / "demo", fixtures.Fixture(background=0, seeds=(1, 2, 3, 4, 5))))
    _, _, rest = README.partition(tool().BEGIN)
    shown, end, _ = rest.partition(tool().END)
    assert end, "the markers are missing"
    shown = shown.strip().removeprefix("```\n").removesuffix("\n```")
    (found, table), (_, of_made) = (text.split("\n\n", 1) for text in (shown, made))
    legend = "\nmean over 5 seeds ± 95% confidence interval (Student's t)"
    assert legend in table
    # Whether any flow met a timeout is a matter of the results, and so is what the legend has to explain.
    rows, rows_of_made = (
        [row for row in words(text.partition(legend)[0]) if row and "timeout" not in row] for text in (table, of_made)
    )
    assert rows == rows_of_made
    assert found.startswith("Flows ≤ 10 KB, p99 FCT: ")
    assert "Flows > 1 MB, mean FCT: " in found


def test_table_and_figure_are_those_of_the_results_if_there_are_any() -> None:
    folder = ROOT / "out/demo"
    if not (folder / "manifest.json").is_file():
        pytest.skip("no results of the demonstration: `make readme` makes them")
    planned = {run.hash for run in anabranch.plan(ROOT / "scenarios/examples/demo.toml").runs}
    assert set(outputs.folder(folder).finished().values()) == planned, "of another version: run `make readme`"
    assert tool().insert(README, tool().render(folder)) == README, "run `make readme`"
    assert tool().FIGURE.read_text(encoding="utf-8") == tool().draw(folder), "run `make readme`"


def test_the_figure_shows_the_numbers_of_the_table() -> None:
    rows = re.findall(r"^ +p99 slowdown +(.*)$", README, re.MULTILINE)
    printed = [float(number) for row in rows for number in re.findall(r"(\S+) ±", row)]
    marks = re.findall(r"slowdown: ([\d.]+); series: [^;]+; transport:", tool().FIGURE.read_text(encoding="utf-8"))
    assert len(printed) == 5 * 4
    assert [float(mark) for mark in marks] == pytest.approx(printed, rel=0.006)


def commands() -> list[str]:
    """The commands of the first block below "Use it"."""
    _, _, rest = README.partition("## Use it")
    block = re.search(r"```console\n(.*?)```", rest, re.DOTALL)
    assert block is not None
    return [line.removeprefix("$ ").partition("  #")[0].strip() for line in block[1].splitlines()]


def test_the_commands_work_as_printed(core: StandIn, folder: Path) -> None:
    tables = []
    for command in commands():
        line, _, target = command.partition(" > ")
        program, *argv = shlex.split(line)
        assert program == ".venv/bin/anabranch"
        # Other settings give other runs.
        core.hashes = "ffff" if any("=" in part for part in argv) else ""
        result = CliRunner().invoke(app, argv, catch_exceptions=False)
        assert result.exit_code == 0, result.stderr
        if target:
            (folder / target).write_text(result.stdout)
        tables.append(result.stdout)
    assert tables[1] == tables[3]
    assert sorted(path.name for path in (folder / "out").iterdir()) == [
        "incast",
        "incast,transport.tcp.rto_min=1ms",
    ]


def test_the_layout_names_every_crate_once() -> None:
    _, _, rest = README.partition("## Layout")
    named = re.findall(r"^crates/(\S+)", rest.partition("## ")[0], re.MULTILINE)
    assert sorted(named) == sorted(path.parent.name for path in ROOT.glob("crates/*/Cargo.toml"))
