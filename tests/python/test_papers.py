"""Every experiment of every paper runs in the quick size, draws its figures and compares: ``make test-papers``."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from anabranch.reproduce import registry

if TYPE_CHECKING:
    from pathlib import Path


def reproduce(out: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "anabranch", "reproduce", *words, "--quick", "--threads", "1", "--out", str(out)]
    environment = {**os.environ, "NO_COLOR": "1"}
    return subprocess.run(
        [*command, "--progress", "none"], capture_output=True, text=True, check=False, env=environment
    )


@pytest.mark.papers
@pytest.mark.parametrize("paper", [paper.name for paper in registry.papers()])
def test_all_of_a_paper_is_reproduced(paper: str, tmp_path: Path) -> None:
    done = reproduce(tmp_path, paper, "--all")
    assert done.returncode == 0, done.stderr[-4000:]
    experiments = registry.of_paper(paper)
    assert experiments
    for experiment in experiments:
        pages = list(tmp_path.glob(f"{experiment.name}*/report.html"))
        assert pages, experiment.name
    # Nothing that a claim or a figure could not give is written as a number.
    assert " nan" not in done.stdout.lower()


@pytest.mark.parametrize("name", ["joy/fig11", "song/fig11"])
def test_what_the_quick_size_does_not_run_is_said(name: str, tmp_path: Path) -> None:
    """Claims about loads that only the full size has, and seeds that change nothing under a sweep over tables."""
    done = reproduce(tmp_path, name)
    assert done.returncode == 0, done.stderr[-4000:]
    if name == "joy/fig11":
        assert "not measured" in done.stdout
