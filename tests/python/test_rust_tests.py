"""Every Rust test file is run: where a crate's tests are one program, it names all of them."""

from __future__ import annotations

import re
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
