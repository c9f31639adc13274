"""Another simulator beside this one, on the same flows, in turns: what `benches/htsim` and `benches/hpcc` share."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "htsim"))

from htsim_case import World, matrix, pairs

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benches" / "RESULTS.md"
ANABRANCH = ROOT / ".venv" / "bin" / "anabranch"
SEED = 1


@dataclass(frozen=True)
class Run:
    """User seconds of a program, when its flows were complete in milliseconds, and, of ours, seconds of simulation."""

    seconds: float
    times: list[float]
    simulating: float = 0.0


@dataclass(frozen=True)
class Case:
    """A permutation, or another matrix, that both programs simulate.

    Attributes
    ----------
        world: The fat-tree, and the packets of a flow.
        scenario: Ours, which reads `matrix.cm`.
        program: Theirs, of the program that was named.
        theirs: Runs it in a folder with `matrix.cm`.
        kind: Of the matrix.
    """

    world: World
    scenario: str
    program: Callable[[Path], Path]
    theirs: Callable[[Path, Path], Run]
    kind: str = "permutation"

    def flows(self) -> list[tuple[int, int]]:
        """Who sends to whom."""
        return pairs(self.kind, SEED, self.world)

    def packet_hops(self) -> int:
        """Data packets of all flows, times the links on their paths."""
        rack, pod = self.world.k // 2, self.world.k**2 // 4

        def links(a: int, b: int) -> int:
            return 2 if a // rack == b // rack else 4 if a // pod == b // pod else 6

        return self.world.packets[self.kind] * sum(links(a, b) for a, b in self.flows())


@dataclass(frozen=True)
class Peer:
    """Another simulator: its name, that of its program as an argument, how to build that, and the cases."""

    name: str
    argument: str
    hint: str
    cases: Mapping[str, Case]


def timed(folder: Path, *command: str | Path, env: Mapping[str, str] | None = None) -> tuple[float, str]:
    """User seconds of a command, and what it prints to standard output."""
    # As users have it: containers set it, and then every interpreter compiles all modules anew.
    kept = {name: value for name, value in (env or os.environ).items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True, errors="replace", env=kept)
    if done.returncode != 0:
        sys.exit(f"error: {command[0]} failed with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before, done.stdout


def ours(folder: Path, case: Case) -> Run:
    """The program of this project, as users run it: results are written, a report is not."""
    (folder / "permutation.toml").write_text(case.scenario)
    options = ["--threads", "1", "--no-report", "--progress", "none", "--out", "out", "--force"]
    seconds, _ = timed(folder, ANABRANCH, "run", "permutation.toml", f"seed={SEED}", *options)
    show = "import anabranch, json; print(json.dumps(anabranch.load('out').flows['end_ns'].to_list()))"
    _, text = timed(folder, ANABRANCH.parent / "python", "-c", show)
    (run,) = json.loads((folder / "out" / "manifest.json").read_text())["runs"]
    return Run(seconds, [time / 1e6 for time in json.loads(text) if time is not None], run["cpu_s"])


def row(peer: Peer, name: str, told: Path, runs: int) -> str:
    """Both in turns: a row of the table."""
    case = peer.cases[name]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "matrix.cm").write_text(matrix(case.kind, SEED, case.world))
        turns = [(case.theirs(case.program(told), folder), ours(folder, case)) for _ in range(runs)]
    for who, run in zip((peer.name, "Anabranch"), turns[0], strict=True):
        if len(run.times) != len(case.flows()):
            sys.exit(f"error: {name}: not all of {len(case.flows())} flows of {who} have finished")
    hops = case.packet_hops()
    them, us = (statistics.median(turn[side].seconds for turn in turns) for side in (0, 1))
    simulating = statistics.median(turn[1].simulating for turn in turns)
    ratios = sorted(turn[0].seconds / turn[1].seconds for turn in turns)
    cells = [
        f"{hops / 1e6:.1f}",
        *(f"{seconds:.2f}" for seconds in (them, us, simulating)),
        *(f"{hops / seconds / 1e6:.2f}" for seconds in (them, us)),
        f"**{statistics.median(ratios):.1f}** " + (f"({ratios[0]:.1f}-{ratios[-1]:.1f})" if runs > 1 else "(1 run)"),
        *(f"{statistics.fmean(run.times):.2f} / {max(run.times):.2f}" for run in turns[0]),
    ]
    return f"| {name} | {' | '.join(cells)} |"


def program_of(asked: argparse.Namespace, parser: argparse.ArgumentParser, peer: Peer) -> tuple[Path, list[str]]:
    """The program that was named, and the cases to be run with it and what lies beside it."""
    told: Path = asked.program.resolve()
    hint = f"\n  hint: {peer.hint}"
    if not is_program(told):
        parser.error(f"{told} is no program{hint}")
    built = ROOT / ".venv" / "extension"
    if not built.exists() or built.read_text().strip() != "release":
        parser.error(f"{ANABRANCH} is not there, or built for tests: it would be slow\n  hint: make setup")
    if unknown := set(asked.cases) - set(peer.cases):
        parser.error(f"no case is called {', '.join(sorted(unknown))}: there are {', '.join(peer.cases)}")
    lacking = {name: path for name, case in peer.cases.items() if not is_program(path := case.program(told))}
    for name in asked.cases:
        if name in lacking:
            parser.error(f"{name} needs {lacking[name]}, which is no program{hint}")
    for name, path in lacking.items():
        if not asked.cases:
            print(f"{name} is left out: {path} is no program", file=sys.stderr)
    return told, asked.cases or [name for name in peer.cases if name not in lacking]


def is_program(path: Path) -> bool:
    """Whether it can be run."""
    return os.access(path, os.X_OK) and not path.is_dir()


def commit_of(folder: Path) -> str:
    """The commit of the clone that a folder belongs to, if it does."""
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    return done.stdout.strip() or "an unknown commit"


def main(peer: Peer, doc: str | None) -> None:
    """Measure, print and perhaps record."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar=peer.argument, type=Path)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"any of {', '.join(peer.cases)}; without one: all")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--record", action="store_true", help="append the table to benches/RESULTS.md")
    asked = parser.parse_intermixed_args()
    if asked.runs < 1:
        parser.error("--runs needs a number, at least 1")
    told, names = program_of(asked, parser, peer)
    them, us = peer.name, "Anabranch"
    seconds = f"{them}, user s | {us} | of it simulating | {them}, M dph/s | {us} | ratio (least-most)"
    rows = [
        f"| case | M dph | {seconds} | {them}, mean / longest FCT in ms | {us} |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    print(*rows, sep="\n", flush=True)
    for name in names:
        rows.append(row(peer, name, told, asked.runs))
        print(rows[-1], flush=True)
    if asked.record:
        processor = next(
            line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")
        )
        head = (
            f"\n## {us} beside {them}, {dt.datetime.now(tz=dt.UTC):%Y-%m-%d}, commit {commit_of(ROOT)}\n\n"
            f"Command: `benches/{Path(sys.argv[0]).name} {peer.argument} --runs {asked.runs}"
            f"{''.join(' ' + name for name in asked.cases)}`, {them} at {commit_of(told.parent)}. "
            f"Machine: {processor.split(':')[1].strip()}, {os.cpu_count()} cores, "
            f"load {os.getloadavg()[0]:.2f} at the end. In turns, one core each; medians. Both deliver "
            "the same full packets over paths of the same lengths: the ratio of seconds is that of packet-hops.\n\n"
        )
        with RESULTS.open("a") as results:
            results.write(head + "\n".join(rows) + "\n")
