"""Every Rust test file is run, where a crate's tests are one program, and what they are built from is built once."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("program", sorted(ROOT.glob("crates/*/tests/all.rs")), ids=lambda path: path.parts[-3])
def test_a_program_names_every_file_beside_it(program: Path) -> None:
    manifest = tomllib.loads((program.parents[1] / "Cargo.toml").read_text(encoding="utf-8"))
    assert not manifest["package"]["autotests"], f"{program}: would be one program of many"
    programs = {test["name"] for test in manifest["test"]}
    named = set(re.findall(r"^mod (\w+);$", program.read_text(encoding="utf-8"), re.MULTILINE))
    files = {path.stem for path in program.parent.glob("*.rs")} - programs
    files |= {path.parent.name for path in program.parent.glob("*/mod.rs")}
    assert files, f"{program}: no tests beside it"
    assert not files - named, f"{program}: add `mod NAME;` for each"


def features(kinds: str, options: str) -> set[str]:
    """The crates of a build, each with its version and features; ``options`` may name variables of the Makefile."""
    command = f"cargo tree --locked --offline --prefix none --format '{{p}} {{f}}' --edges {kinds} {options}"
    make = ["make", "--silent", "--no-print-directory", f"--eval=tree-of-tests: ; @{command}", "tree-of-tests"]
    said = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {line.removesuffix(" (*)") for line in said.splitlines()}


@pytest.mark.parametrize("options", ["-p anabranch-py --features as-tests", "$(CRATES)"], ids=["extension", "programs"])
def test_it_is_built_of_the_same_crates_as_the_tests(options: str) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("no `cargo` to ask for the crates")
    built = features("normal,build", options)
    tests = features("normal,build,dev", "$(CRATES)")
    twice = {line for line in built - tests if not line.startswith("anabranch-py ")}
    assert len(built) > 100
    assert not twice, f"crates/py/Cargo.toml: the feature `as-tests` lacks what tests turn on in {sorted(twice)}"
