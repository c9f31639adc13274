"""Song's barrier-synchronised blocks in ns-3 3.14 and here: runs both, and writes the table of `crosscheck-ns3.md`.

`blocks.py measure --ours .. --ns3 ..` runs both programs on every case and writes `blocks_ns3_3.14.csv`; `blocks.py
record` writes the table from that file. ns-3 3.14 is no package: `docs/fidelity/crosscheck-ns3.md` says how its half is
built. Standard library only.
"""

import argparse
import csv
import statistics
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path

from crosscheck_page import record

HERE = Path(__file__).parent
DATA = HERE / "blocks_ns3_3.14.csv"
PAGE = HERE.parent.parent / "docs/fidelity/crosscheck-ns3.md"
BY = "tests/crosscheck/blocks.py record"

SCHEMES = {"nr": "one fixed path", "dnvr": "one random path", "fb": "Front-Back, two random paths"}
BUFFERS = {3: 80, 5: 140, 7: 180}
"""Senders, and the buffer in packets for which the thesis gives numbers."""
SEEDS = (1, 2, 3)
COLUMNS = (
    *("senders, buffer", "connections", "clients", "ACKs delayed by (ms)", "scheme"),
    *("here (ms)", "ns-3 3.14 (ms)", "ratio", "saves here", "saves in ns-3 3.14"),
)


@dataclass(frozen=True)
class Setting:
    """A workload: senders of each client, and what the thesis leaves open."""

    senders: int
    new_connections: int
    together: int
    ack_ms: int = 200
    """Longest delay of an ACK: 200 ms in ns-3."""

    def words(self) -> list[str]:
        """As both programs read it."""
        return [
            f"senders={self.senders}",
            f"buffer={BUFFERS[self.senders]}",
            f"new_connections={self.new_connections}",
            f"together={self.together}",
            f"ack_ms={self.ack_ms}",
        ]

    def cells(self) -> str:
        """As the table has it."""
        connections = "for each block" if self.new_connections else "last"
        clients = "wait for each other" if self.together else "by themselves"
        return f"{self.senders}, {BUFFERS[self.senders]} packets | {connections} | {clients} | {self.ack_ms}"


@dataclass(frozen=True)
class Run:
    """What both programs measured of one setting, scheme and seed: mean time of a block, and packets dropped."""

    senders: int
    new_connections: int
    together: int
    ack_ms: int
    scheme: str
    seed: int
    ours_ns: int
    ns3_ns: int
    ours_dropped: int
    ns3_dropped: int

    @property
    def setting(self) -> Setting:
        """Of what it is a run."""
        return Setting(self.senders, self.new_connections, self.together, self.ack_ms)


def settings() -> list[Setting]:
    """All ways to read the thesis with 3 senders, and the one of its figures with 5 and 7; other ACKs."""
    ways = [Setting(3, new, together) for new, together in product((1, 0), (1, 0))]
    return [*ways, Setting(5, 1, 1), Setting(7, 1, 1), Setting(3, 0, 1, ack_ms=40), Setting(3, 0, 0, ack_ms=40)]


def measure(ours: Path, ns3: Path) -> Iterable[Run]:
    """Run every case in both simulators."""
    for setting, scheme, seed in product(settings(), SCHEMES, SEEDS):
        words = [scheme, str(seed), *setting.words()]
        case = subprocess.run([ours, "case", *words], check=True, capture_output=True, text=True).stdout
        found = [
            subprocess.run(command, input=case, check=True, capture_output=True, text=True).stdout.strip().split(",")
            for command in ([str(ours), "run", *words], [str(ns3)])
        ]
        (_, _, here, lost), (_, _, there, gone) = found
        yield Run(**vars(setting), scheme=scheme, seed=seed, ours_ns=int(here), ns3_ns=int(there),
                  ours_dropped=int(lost), ns3_dropped=int(gone))  # fmt: skip


def read(path: Path) -> list[Run]:
    """The runs of a file."""
    with path.open(encoding="utf-8") as file:
        return [
            Run(**{k: v if k == "scheme" else int(v) for k, v in row.items()})  # type: ignore[arg-type]
            for row in csv.DictReader(file)
        ]


def table(runs: Sequence[Run]) -> str:
    """Means over seeds of each setting and scheme, and what a scheme saves beside one fixed path."""
    of = {(setting, scheme): [run for run in runs if (run.setting, run.scheme) == (setting, scheme)]
          for setting in dict.fromkeys(run.setting for run in runs) for scheme in SCHEMES}  # fmt: skip
    mean = {
        key: tuple(statistics.fmean(getattr(run, name) for run in mine) / 1e6 for name in ("ours_ns", "ns3_ns"))
        for key, mine in of.items()
        if mine
    }
    seeds = len({run.seed for run in runs})
    drawn = "Both have the same pairs of hosts; each draws its own random paths."
    lines = [
        f"Mean completion time of a block, over {seeds} seeds. {drawn}",
        "",
        f"| {' | '.join(COLUMNS)} |",
        "|---|---|---|---:|---|---:|---:|---:|---:|---:|",
    ]
    for (setting, scheme), (here, there) in mean.items():
        base = mean[setting, "nr"]
        saved = "".join(
            f" {100 * (1 - value / of_nr):.0f} % |" if scheme != "nr" else " |"
            for value, of_nr in zip((here, there), base, strict=True)
        )
        cells = f"{setting.cells()} | {SCHEMES[scheme]} | {here:.0f} | {there:.0f} | {here / there:.2f}"
        lines.append(f"| {cells} |{saved}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("measure", "record"))
    parser.add_argument("--ours", type=Path, help="crosscheck_blocks")
    parser.add_argument("--ns3", type=Path, help="ns3_blocks, built with ns-3 3.14")
    options = parser.parse_args()
    if options.what == "measure":
        if not options.ours or not options.ns3:
            parser.error("measure needs --ours and --ns3")
        with DATA.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, [one.name for one in fields(Run)], lineterminator="\n")
            writer.writeheader()
            for run in measure(options.ours, options.ns3):
                writer.writerow(vars(run))
                file.flush()
    record(PAGE, BY, blocks=table(read(DATA)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
