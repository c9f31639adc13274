"""Compares transports with those of csg-htsim, a simulator by others: the same fabric, settings and matrices.

Called by `make htsim-record HTSIM=FOLDER UET=FOLDER`, clones of https://github.com/Broadcom/csg-htsim and of its fork
https://github.com/ultraethernet/uet-htsim, of which copies are built; the result is docs/fidelity/htsim.md. Some
transports are also run with the faults mended that repairs.patch has.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import htsim_page
from htsim_case import CASES, HOSTS, PACKETS, SENDERS, Case, matrix, options, scenario

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGE = ROOT / "docs/fidelity/htsim.md"
RECORD = ROOT / "docs/fidelity/data/htsim.json"
SEEDS = range(1, 6)


class HtsimError(RuntimeError):
    """A program failed, or flows did not finish."""


def called(folder: Path, *command: str | Path) -> str:
    """Runs a command.

    Returns:
        What it prints to standard output.

    Raises:
        HtsimError: It failed.
    """
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, errors="replace")
    if done.returncode != 0:
        raise HtsimError(f"{command[0]} failed with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def build(source: Path, folder: Path, *, repaired: bool) -> Path:
    """Builds csg-htsim, from a copy.

    Returns:
        The folder of its programs.
    """
    shutil.copytree(source / "sim", folder / "sim", ignore=shutil.ignore_patterns("*.o", "*.a", "htsim_*", "EXAMPLES"))
    if repaired:
        called(folder, "patch", "-p1", "-i", HERE / "repairs.patch")
    programs = sorted({case.program for case in CASES if case.repaired == repaired and not case.uet})
    called(folder / "sim", "make", "-j2")
    called(folder / "sim/datacenter", "make", "-j2", *programs)
    return folder / "sim/datacenter"


def build_uet(source: Path, folder: Path) -> Path:
    """Builds uet-htsim, from a copy.

    Returns:
        The folder of its programs.
    """
    shutil.copytree(source / "htsim/sim", folder / "sim", ignore=shutil.ignore_patterns("build", "connection_matrices"))
    called(folder, "cmake", "-S", "sim", "-B", "built", "-DCMAKE_BUILD_TYPE=Release")
    called(folder, "cmake", "--build", "built", "-j2", "--target", "htsim_uec")
    return folder / "built/datacenter"


def theirs(programs: Path, case: Case, kind: str, seed: int, folder: Path) -> list[float]:
    """Completion times in csg-htsim, at the senders, in microseconds."""
    file = folder / "matrix.cm"
    file.write_text(matrix(kind, seed))
    text = called(folder, programs / case.program, *options(case, file, kind, seed))
    return [float(time) for time in re.findall(r"finished at ([\d.e+]+)", text)]


def ours(case: Case, kind: str, seed: int, folder: Path) -> list[float]:
    """The same here, at the receivers."""
    file = folder / "matrix.cm"
    file.write_text(matrix(kind, seed))
    (folder / "matrix.toml").write_text(scenario(case, file))
    say = ["--no-report", "--progress", "none", "--threads", "1", "--out", "out", "--force"]
    called(folder, sys.executable, "-m", "anabranch", "run", "matrix.toml", f"seed={seed}", *say)
    show = "import anabranch, json; print(json.dumps(anabranch.load('out').flows['fct_ns'].to_list()))"
    return [time / 1e3 for time in json.loads(called(folder, sys.executable, "-c", show))]


def measured(programs: Path | None, case: Case, kind: str) -> htsim_page.Times:
    """The flows' times in both, by seed; without programs only ours.

    Raises:
        HtsimError: A flow has not finished.
    """
    found = htsim_page.Times([], [])
    for seed in SEEDS:
        with tempfile.TemporaryDirectory() as folder:
            if programs:
                found.theirs.append(sorted(theirs(programs, case, kind, seed, Path(folder))))
            found.ours.append(sorted(ours(case, kind, seed, Path(folder))))
    flows = SENDERS if kind == "incast" else HOSTS
    if any(len(times) != flows for times in [*found.theirs, *found.ours]):
        raise HtsimError(f"{case.name}, {kind}: not all of {flows} flows have finished")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "source", metavar="HTSIM", type=Path, nargs="?", help="the clone; without it: only the page anew"
    )
    parser.add_argument("uet", metavar="UET", type=Path, nargs="?", help="the clone of uet-htsim")
    told = parser.parse_args()
    if source := told.source:
        needed = {
            "csg-htsim": source / "sim/datacenter/main_hpcc.cpp",
            "uet-htsim": (told.uet or Path("UET")) / "htsim/sim/datacenter/main_uec.cpp",
        }
        for name, file in needed.items():
            if not file.is_file():
                parser.error(f"there is no {file}, which a clone of {name} has")
        with tempfile.TemporaryDirectory() as made:
            plain, repaired = (build(source, Path(made) / str(mended), repaired=mended) for mended in (False, True))
            uet = build_uet(told.uet, Path(made) / "uet")

            def programs(case: Case) -> Path:
                return uet if case.uet else repaired if case.repaired else plain

            rows = {f"{case.name}, {kind}": measured(programs(case), case, kind) for kind in PACKETS for case in CASES}
        commits = {"commit": source, "uet": told.uet}
        known = {name: called(folder, "git", "rev-parse", "HEAD").strip() for name, folder in commits.items()}
        RECORD.write_text(htsim_page.Record(known["commit"], known["uet"], rows).as_json(), encoding="utf-8")
    PAGE.write_text(htsim_page.page(htsim_page.Record.of_json(RECORD.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except HtsimError as error:
        sys.exit(f"error: {error}")
