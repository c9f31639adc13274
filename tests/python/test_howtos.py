"""The pages that extend the simulator are true: whoever follows them has code that compiles and passes its tests."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import howtos
import pytest
import test_comparison as looks

WORK = howtos.ROOT / "target/howto"
"""The copy is kept between runs, so that only what changed is compiled again."""

SECONDS = {"s": 1.0, "ms": 1e-3}


@pytest.fixture(scope="module")
def copy() -> howtos.Tree:
    return howtos.followed(*howtos.PAGES)


def cargo(command: str, folder: Path) -> str:
    """Runs a page's command, without the optimisation that short tests do not need."""
    settings = dict(re.findall(r"(?<!\S)([A-Z_]+)=(\S*) ", command.partition("cargo ")[0]))
    words = command.partition("cargo ")[2].split()
    plain = {"CARGO_PROFILE_DEV_OPT_LEVEL": "0", "CARGO_PROFILE_DEV_DEBUG": "0", "PROPTEST_CASES": "4"}
    # The libraries are those that the other tests have compiled: `Cargo.toml` says how, whatever `plain` says.
    shared = {"CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(howtos.ROOT / "target"))}
    environment = {**os.environ, **shared, **plain, **settings}
    codec = "profile.dev.package.anabranch-raptorq.opt-level=0"
    done = subprocess.run(
        ["cargo", words[0], "--locked", "--quiet", "--config", codec, *words[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-5000:]}\n{done.stderr[-5000:]}"
    return done.stdout


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
    targets = "--lib --test all --example howto"
    cargo(f"cargo test --no-run -p anabranch-transport -p anabranch-sim {targets}", tree)
    for command in dict.fromkeys(copy.commands):
        assert re.search(r"[1-9][0-9]* passed", cargo(command, tree)), f"{command}: no test ran"
    reference = (tree / "docs/reference/scenario.md").read_text(encoding="utf-8")
    for name in ("acks-first", "capacity-weights", "ring", "round-robin", "staggered", "stop-and-wait", "vegas"):
        assert f'"{name}"' in reference or f"`{name}`" in reference, name
    for page, scenario in copy.scenarios.items():
        file = WORK / f"{page}.toml"
        file.write_text(scenario, encoding="utf-8")
        ends = cargo(f"cargo run -p anabranch-sim --example howto -- {file}", tree)
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
