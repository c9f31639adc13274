"""The pages that extend the simulator are true: whoever follows them has code that compiles and passes its tests."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import howtos
import pytest
import test_comparison as looks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

WORK = howtos.ROOT / "target/howto"
"""The copy is kept between runs, so that only what changed is compiled again."""

SECONDS = {"s": 1.0, "ms": 1e-3}


@pytest.fixture(scope="module")
def copy() -> howtos.Tree:
    return howtos.followed(*howtos.PAGES)


# Built of the libraries that the other tests have compiled, and once for all pages.
SELECTED = "-p anabranch-transport -p anabranch-sim -p anabranch-py --features anabranch-py/as-tests"
# Without the optimisation that short tests do not need.
PLAIN = {"CARGO_PROFILE_DEV_OPT_LEVEL": "0", "CARGO_PROFILE_DEV_DEBUG": "0", "PROPTEST_CASES": "4"}

COMMAND = re.compile(r"(?P<settings>(?:[A-Z_]+=\S* )*)cargo test -p (?P<program>\S+ --(?:lib|test \w+)) (?P<tests>\S+)")


def run(command: Sequence[str | Path], folder: Path, settings: Mapping[str, str]) -> str:
    """Runs a command that must not fail."""
    shared = {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(howtos.ROOT / "target"))}
    environment = {**os.environ, **shared, **PLAIN, **settings}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
    return done.stdout


def programs(options: str, tree: Path) -> dict[str, Path]:
    """What Cargo builds, by the options that name it."""
    codec = "profile.dev.package.anabranch-raptorq.opt-level=0"
    words = f"{options} --locked --quiet --message-format=json-render-diagnostics {SELECTED}".split()
    found = {}
    for message in map(json.loads, run(["cargo", "--config", codec, *words], tree, {}).splitlines()):
        if message["reason"] == "compiler-artifact" and message["executable"]:
            crate, (kind,) = Path(message["manifest_path"]).parent.name, message["target"]["kind"]
            name = "" if kind == "lib" else f" {message['target']['name']}"
            found[f"anabranch-{crate} --{kind}{name}"] = Path(message["executable"])
    return found


def test_each_step_names_a_file_and_a_place_that_are_there(copy: howtos.Tree) -> None:
    assert len(copy.new) == len(copy.scenarios) == len(howtos.PAGES), (copy.new, list(copy.scenarios))


def test_the_code_is_formatted(copy: howtos.Tree, tmp_path: Path) -> None:
    howtos.write(howtos.Tree({name: copy.files[name] for name in (*copy.new, "rustfmt.toml")}), tmp_path)
    done = subprocess.run(
        ["rustfmt", "--edition", "2024", "--check", "--color", "never", *copy.new],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_looks_are_like_no_others_and_legible(copy: howtos.Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    module = type(sys)("styles_of_the_pages")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(copy.text("python/anabranch/base/styles.py"), module.__dict__)
    monkeypatch.setattr(looks, "styles", module)
    looks.test_no_two_transports_share_a_look()
    for name in ("stop-and-wait", "vegas"):
        looks.test_colours_are_legible_on_light_and_dark(module.TRANSPORTS[name])


def test_what_the_pages_build_passes_its_tests(copy: howtos.Tree) -> None:
    tree = WORK / "tree"
    copy.files["crates/sim/examples/howto.rs"] = (howtos.ROOT / "tests/python/howtos.rs").read_bytes()
    howtos.write(copy, tree)
    built = programs("test --no-run --tests", tree)
    for command in dict.fromkeys(copy.commands):
        asked = COMMAND.fullmatch(command)
        assert asked, f"{command}: not run here"
        folder = tree / "crates" / asked["program"].split()[0].removeprefix("anabranch-")
        settings = dict(setting.split("=") for setting in asked["settings"].split())
        said = run([built[asked["program"]], asked["tests"]], folder, settings)
        assert re.search(r"[1-9][0-9]* passed", said), f"{command}: no test ran"
    reference = (tree / "docs/reference/scenario.md").read_text(encoding="utf-8")
    for name in ("acks-first", "capacity-weights", "ring", "round-robin", "staggered", "stop-and-wait", "vegas"):
        assert f'"{name}"' in reference or f"`{name}`" in reference, name
    example = programs("build --example howto", tree)["anabranch-sim --example howto"]
    for page, scenario in copy.scenarios.items():
        file = WORK / f"{page}.toml"
        file.write_text(scenario, encoding="utf-8")
        ends = run([example, file], tree, {})
        assert "never" not in ends, f"{page}: {ends}"
        told = howtos.read(page).split(scenario)[1]
        for number, unit in re.findall(r"\b(\d+(?:\.\d+)?) (s|ms)\b", told.partition("\n#")[0]):
            assert ended(ends, float(number) * SECONDS[unit], 10 ** -len(number.partition(".")[2]) * SECONDS[unit]), (
                f"{page}: no flow ends after {number} {unit}:\n{ends}"
            )


def ended(ends: str, at: float, unit: float) -> bool:
    """Whether some flow ended at this time, in seconds, rounded to a unit."""
    times = [float(word) for word in ends.split() if word[0].isdigit()]
    return any(abs(time - at) <= unit / 2 for time in times)


def test_the_experiment_is_found_run_and_tested(tmp_path: Path) -> None:
    copy = howtos.followed("add-an-experiment")
    howtos.write(copy, tmp_path)
    shutil.copytree(howtos.ROOT / "tests/python", tmp_path / "tests/python")
    shutil.copy(howtos.ROOT / "pyproject.toml", tmp_path)
    core = importlib.util.find_spec("anabranch._core")
    assert core
    assert core.origin
    shutil.copy(core.origin, tmp_path / "python/anabranch")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "python")}
    assert len(copy.commands) == 2
    for command in copy.commands:
        program, *arguments = shlex.split(command.removeprefix(".venv/bin/"))
        done = subprocess.run(
            [sys.executable, "-m", program, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
