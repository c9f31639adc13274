"""What needs too much memory is refused with a message, by a program that may not have much."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("anabranch._core")

ADDRESS_SPACE = 3_000_000_000
SCENARIO = """
[fabric]
topology = "star"
hosts = 8
[transport]
name = "ndp"
[[workload]]
arrivals = { law = "poisson", load = 0.5 }
sizes = { law = "fixed", size = "1MB" }
placement = { pattern = "random" }
sessions = 100
"""


def _limit() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "a.toml").write_text(SCENARIO)
    return subprocess.run(
        [sys.executable, "-m", "anabranch", "run", "a.toml", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=_limit,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", "RAYON_NUM_THREADS": "1"},
        check=False,
    )


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["workload.0.sessions=100000000"], "100000000 sessions are more than"),
        (["workload.0.sizes.size=1GB", "measure.interval=1us", "measure.links=true"], "a run needs about"),
        (['workload.0.sizes={ law = "cdf", file = "/dev/zero" }'], "/dev/zero: it is not a regular file"),
        (['fabric={ topology = "fat-tree", k = 10000 }'], "at most 1048576 hosts"),
        (["repeat=1000000000"], "more than 1000000 runs"),
    ],
)
def test_refused_in_little_memory(tmp_path: Path, settings: list[str], message: str, *, dry: bool) -> None:
    done = _run(tmp_path, *settings, *(["--dry-run"] if dry else []))
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 2


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "sizes.csv")
    done = _run(tmp_path, 'workload.0.sizes={ law = "cdf", file = "sizes.csv" }', "--dry-run")
    assert "sizes.csv: it is not a regular file" in done.stderr
    assert done.returncode == 2
