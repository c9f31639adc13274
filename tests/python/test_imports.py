"""What a command imports: asking for the version or for help must not take longer than a simulation."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {
    "altair", "bokeh", "dask", "distributed", "fsspec", "jinja2", "markdown_it", "matplotlib", "numpy", "pandas",
    "polars", "rich", "scipy", "statsmodels", "upath", "vl_convert",
}  # fmt: skip

PROBE = """
import json, sys
from anabranch.cli import main
sys.argv[0] = "anabranch"
try:
    main()
except SystemExit as end:
    code = end.code
print()
print(json.dumps([code, sorted({name.partition(".")[0] for name in sys.modules}), sorted(sys.modules)]))
"""


def imported(*argv: str, cwd: Path | None = None) -> tuple[set[str], set[str]]:
    """Top-level packages, and all modules, that a command imports."""
    command = [sys.executable, "-c", PROBE, *argv]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=cwd, timeout=120)
    code, packages, modules = json.loads(done.stdout.splitlines()[-1])
    assert code == 0, done.stderr
    return set(packages), set(modules)


COMMANDS = [
    ("--version",),
    ("--help",),
    ("run", "--help"),
    ("job", "--help"),
    ("demo", "--help"),
    ("report", "--help"),
    ("reproduce", "--help"),
    ("schema", "--help"),
    ("routing", "--help"),
    ("codec", "--help"),
    ("codec", "bench", "--help"),
    ("traffic", "--help"),
    *(("traffic", name, "--help") for name in ("bin", "fit", "dimension", "bill", "report", "generate")),
]


@pytest.mark.parametrize("argv", COMMANDS, ids=" ".join)
def test_help_imports_nothing_heavy(argv: tuple[str, ...]) -> None:
    assert imported(*argv)[0] & HEAVY == set()


def test_the_scenarios_schema_imports_nothing_heavy() -> None:
    assert imported("schema")[0] & HEAVY == set()


def test_a_dry_run_imports_no_statistics(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        '[fabric]\ntopology = "star"\nhosts = 4\n[transport]\nname = "ndp"\n[[workload]]\n'
        'sizes = { law = "fixed", size = "20KB" }\nplacement = { pattern = "permutation" }\n'
    )
    assert imported("run", "a.toml", "--dry-run", cwd=tmp_path)[0] & HEAVY == {"rich"}


def test_a_run_of_one_seed_loads_no_scipy(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text(
        '[fabric]\ntopology = "star"\nhosts = 4\n[transport]\nname = "ndp"\n[[workload]]\n'
        'sizes = { law = "fixed", size = "20KB" }\nplacement = { pattern = "permutation" }\n'
    )
    assert "scipy" not in imported("run", "a.toml", "--no-report", "--progress", "none", cwd=tmp_path)[0]


def test_statistics_import_no_distributions() -> None:
    probe = "import sys, anabranch; anabranch.stats.interval([1.0, 2.0]); print('scipy.stats' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "False\n"


def test_the_package_alone_imports_nothing() -> None:
    probe = "import sys, anabranch; print(sorted(name for name in sys.modules if name.startswith('anabranch')))"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "['anabranch']\n"


def test_every_public_name_is_there() -> None:
    import anabranch
    from anabranch import codec, reproduce, routing
    from anabranch.showing import report

    for package in (anabranch, codec, reproduce, report, routing):
        for name in package.__all__:
            assert getattr(package, name) is not None
    assert set(anabranch.__all__) <= set(dir(anabranch))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        anabranch.nonsense  # noqa: B018


@pytest.mark.parametrize("argv", [("--version",), ("--help",)], ids=" ".join)
def test_it_takes_less_than_a_second_of_a_processor(argv: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "anabranch", *argv]
    spent = []
    for _ in range(2):  # the first may compile
        before = os.times()
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        after = os.times()
        spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    # 0.2 s on the machine of benches/RESULTS.md; the bound leaves room for slower ones.
    assert min(spent) < 0.6, spent
