"""`make setup`: it says what takes long, hides nothing of a failure, and is quiet where there is nothing to do."""

from __future__ import annotations

import subprocess
import sys
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


def setup(folder: Path, said: str, *, code: int = 0, built: bool = False) -> subprocess.CompletedProcess[str]:
    if built:
        (folder / "python/anabranch").mkdir(parents=True)
        (folder / "python/anabranch/_core.abi3.so").write_bytes(b"")
    (folder / "uv").write_text(f"import sys\nsys.stderr.write({said!r})\nsys.exit({code})\n")
    command = [sys.executable, str(SETUP), sys.executable, "uv"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)


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


def test_a_failure_is_shown_in_full(tmp_path: Path) -> None:
    error = "DEBUG error[E0308]: mismatched types\nDEBUG   --> crates/sim/src/lib.rs:1:1\nerror: build failed\n"
    done = setup(tmp_path, BUILD + error, code=2)
    assert done.returncode == 2
    shown = done.stderr.splitlines()
    for line in ("error[E0308]: mismatched types", "  --> crates/sim/src/lib.rs:1:1", "error: build failed"):
        assert line in shown
