"""The options of running a scenario: one table, from which functions, docstrings, help and checks are made."""

from __future__ import annotations

import inspect
import math
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import anabranch
from anabranch.cli import app
from anabranch.errors import AnabranchError
from anabranch.running.options import MOST_CORES, OPTIONS, RunOptions, table

ROOT = Path(__file__).parents[2]

FUNCTIONS = [(anabranch.run, table(RunOptions)), (anabranch.sweep, OPTIONS)]


@pytest.mark.parametrize(("function", "options"), FUNCTIONS, ids=["run", "sweep"])
def test_functions_take_the_options_and_tell_of_them(function: Any, options: dict[str, Any]) -> None:  # noqa: ANN401
    parameters = inspect.signature(function).parameters
    assert list(parameters) == ["path", "overrides", *options]
    assert {name: parameters[name].default for name in options} == {name: one.default for name, one in options.items()}
    told = " ".join(function.__doc__.split())
    for name, option in options.items():
        assert f" {name} {' '.join(option.documented.split())} " in told
    assert "{" not in function.__doc__


@pytest.mark.parametrize("command", ["run", "reproduce", "demo"])
def test_help_tells_the_same(command: str) -> None:
    text = " ".join(CliRunner().invoke(app, [command, "--help"]).stdout.split())
    own = {"run": set(OPTIONS), "reproduce": {"seeds", "threads", "on", "on_options", "time_limit_wall_s"},
           "demo": {"threads", "resume", "force"}}[command]  # fmt: skip
    for name in own:
        option = OPTIONS[name]
        value = " " + option.metavar if option.metavar else " N" if option.least is not None else ""
        assert f"{option.flag}{value} {option.help}" in text


def test_a_run_takes_as_many_cores_as_the_help_says() -> None:
    core = (ROOT / "crates/sim/src/experiment.rs").read_text(encoding="utf-8")
    assert re.findall(r"const UNASKED: usize = (\d+);", core) == [str(MOST_CORES)]
    page = (ROOT / "docs/concepts/parallel-runs.md").read_text(encoding="utf-8")
    assert f"| up to {MOST_CORES}, of the cores that are left" in page


def test_a_keyword_that_is_no_option_is_an_error(tmp_path: Path) -> None:
    given: dict[str, Any] = {"sedes": 2}
    with pytest.raises(TypeError, match="unexpected keyword argument 'sedes'"):
        anabranch.run(tmp_path / "a.toml", **given)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"seeds": 0}, "--seeds 0: expected 1 to 1000000"),
    ({"seeds": 1_000_001}, "--seeds 1000001: expected 1 to 1000000"),
    ({"threads": -1}, "--threads -1: expected at least 0"),
    ({"time_limit_wall_s": 0.0}, "a limit of 0.0 s: expected a time above 0"),
    ({"time_limit_wall_s": -1.0}, "a limit of -1.0 s: expected a time above 0"),
    ({"time_limit_wall_s": math.nan}, "a limit of nan s: expected a time above 0"),
    ({"time_limit_wall_s": math.inf}, "a limit of inf s: expected a time above 0"),
    ({"on": "local:2", "threads": 2}, "--threads is of this process, and --on of others"),
    ({"on_options": "a.toml"}, "--on-options says how to use --on, which is missing"),
]


@pytest.mark.parametrize(
    ("options", "message"), REFUSED, ids=lambda given: "" if isinstance(given, str) else str(given)
)
@pytest.mark.parametrize("function", [anabranch.run, anabranch.sweep], ids=["run", "sweep"])
def test_what_makes_no_sense_is_refused_first(
    function: Any,  # noqa: ANN401
    options: dict[str, Any],
    message: str,
    tmp_path: Path,
) -> None:
    with pytest.raises(AnabranchError) as caught:
        function(tmp_path / "there-is-none.toml", out=tmp_path / "out", **options)
    assert message in str(caught.value)
    assert list(tmp_path.iterdir()) == []
