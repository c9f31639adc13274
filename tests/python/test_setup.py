"""`make setup`: it says what takes long, hides nothing of a failure, and is quiet where there is nothing to do."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

SETUP = Path(__file__).parents[2] / "tools/setup"

BUILD = """\
Resolved 60 packages in 5ms
   Building anabranch @ file:///here
DEBUG Running `maturin pep517 build-wheel`
DEBUG    Compiling libc v0.2.1
DEBUG    Compiling anabranch-py v0.1.0 (/here/crates/py)
"""


def setup(
    folder: Path, said: str, *, code: int = 0, built: bool = False, arguments: str = ""
) -> subprocess.CompletedProcess[str]:
    if built:
        (folder / "python/anabranch").mkdir(parents=True)
        (folder / "python/anabranch/_core.abi3.so").write_bytes(b"")
        (folder / "target/release").mkdir(parents=True)
    (folder / "uv").write_text(f"import sys\nsys.stderr.write({said!r})\nsys.exit({code})\n")
    command = [sys.executable, str(SETUP), sys.executable, "uv"]
    environment = {**os.environ, "MATURIN_PEP517_ARGS": arguments}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize(
    "said",
    ["Resolved 60 packages in 5ms\n", "Resolved 60 packages in 5ms\nPrepared 1 package in 2s\n ~ anabranch==0.1.0\n"],
)
def test_it_is_quiet_where_nothing_is_built(tmp_path: Path, said: str) -> None:
    done = setup(tmp_path, said, built=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_it_says_what_a_first_build_takes(tmp_path: Path) -> None:
    done = setup(tmp_path, BUILD)
    assert done.returncode == 0
    assert done.stderr.splitlines()[0] == (
        "building the simulator: about 4 minutes on two free cores; later builds take only what has changed"
    )
    assert done.stderr.splitlines()[-1].startswith("done after 0:0")


def test_it_says_that_it_builds_again(tmp_path: Path) -> None:
    assert setup(tmp_path, BUILD, built=True).stderr.startswith("building the simulator again")


def test_it_says_that_what_tests_build_is_slow(tmp_path: Path) -> None:
    done = setup(tmp_path, BUILD, arguments="--profile dev --features as-tests")
    assert done.stderr.startswith("building the simulator for tests")
    assert "`make setup` builds it for use" in done.stderr
    assert "optimising" not in done.stderr


def test_a_failure_is_shown_in_full(tmp_path: Path) -> None:
    error = "DEBUG error[E0308]: mismatched types\nDEBUG   --> crates/sim/src/lib.rs:1:1\nerror: build failed\n"
    done = setup(tmp_path, BUILD + error, code=2)
    assert done.returncode == 2
    shown = done.stderr.splitlines()
    for line in ("error[E0308]: mismatched types", "  --> crates/sim/src/lib.rs:1:1", "error: build failed"):
        assert line in shown


def log(*crates: str) -> list[str]:
    """What is said to be done after each crate that Cargo names."""
    loader = importlib.machinery.SourceFileLoader("setup_tool", str(SETUP))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("setup_tool", loader))  # type: ignore[arg-type]
    loader.exec_module(module)
    taken = module.Log()
    said = []
    for crate in crates:
        taken.take(f"DEBUG    Compiling {crate} v0.1.0")
        said.append(taken.now)
    return said


def test_the_last_step_is_named_when_all_that_it_joins_is_and_not_with_its_build_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATURIN_PEP517_ARGS", raising=False)
    manifest = tomllib.loads((SETUP.parents[1] / "crates/py/Cargo.toml").read_text(encoding="utf-8"))
    libraries = [name for name in manifest["dependencies"] if name.startswith("anabranch-")]
    said = log("libc", "anabranch-py", *libraries)
    assert ["optimising" in line for line in said] == [False] * (len(said) - 1) + [True]
    assert said[-1].startswith(f"compiling {libraries[-1]}, then optimising across all crates")


def test_a_later_build_names_the_last_step_with_the_binding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MATURIN_PEP517_ARGS", raising=False)
    (tmp_path / "python/anabranch").mkdir(parents=True)
    (tmp_path / "python/anabranch/_core.abi3.so").write_bytes(b"")
    (tmp_path / "target/release").mkdir(parents=True)
    assert ["optimising" in line for line in log("anabranch-sim", "anabranch-py")] == [False, True]
