"""Runs the same transfers in the simulator and on real hosts, and compares what comes out.

Called by `make worlds`; the result is `docs/fidelity/wire.md`. Needs the simulator and the program `scdp`, and root or
a kernel that lets users make namespaces. Exits with 1 if something differs by more than the tolerance and
`explained.toml` does not say why.
"""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import worlds_lab
import worlds_page
import worlds_sim
from worlds_case import CONDITIONS, TRANSFERS, Runs, Transfer

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/fidelity/wire.md"
RECORD = ROOT / "docs/fidelity/data/wire.json"


@dataclass(frozen=True)
class Experiment:
    """Something is changed, in one world or in both, to see whether a difference comes from it."""

    changed: str
    transfers: tuple[str, ...]
    conditions: tuple[str, ...]
    lab: tuple[tuple[str, str], ...] | None = None
    """Texts of the lab file and what replaces them; none: no runs on real hosts."""
    simulated: bool = True
    fabric: tuple[tuple[str, str], ...] = ()
    settings: tuple[str, ...] = ()


LATE_RECEIVER = (
    '[[program]]\non = "b"\ncommand = ["sh", "-c", "sleep 0.06; exec $SCDP receive --once --json --key {key} '
    '--bind {address} --group 239.1.2.3 --interface {address}"]\nwait = "10s"\n\n[[step]]'
)
"""Without `ready`, so that the lab does not wait for it. A shell, unlike the lab, does not know where `scdp` is."""

EXPERIMENTS = (
    Experiment(
        worlds_page.SLOW_LINKS,
        ("unicast", "group"),
        ("no loss",),
        lab=(("100Mbps", "10Mbps"), ('"4MB"', '"400kB"')),
        fabric=(("100Mbps", "10Mbps"),),
        settings=("workload.0.sizes.size=400KB",),
    ),
    Experiment(
        worlds_page.LONGER,
        ("unicast", "group"),
        ("no loss",),
        lab=(("100Mbps", "10Mbps"), ('"4MB"', '"1200kB"')),
        fabric=(("100Mbps", "10Mbps"),),
        settings=("workload.0.sizes.size=1200KB",),
    ),
    Experiment(
        worlds_page.LONG_QUEUE,
        ("unicast", "group", "fetch"),
        ("trimming", "short queue"),
        lab=(("15kB", "300kB"),),
        settings=("switch.buffer=300KB", "switch.header_buffer=300KB"),
    ),
    Experiment(
        worlds_page.LATE,
        ("group",),
        ("no loss",),
        lab=(
            ('on = ["b", "c", "d"]', 'on = ["c", "d"]'),
            ("[[step]]", LATE_RECEIVER),
        ),
        simulated=False,
    ),
)


def compare(scdp: Path, folder: Path, transfer: Transfer) -> Iterator[Runs]:
    """Every condition of a transfer in both worlds."""
    real = worlds_lab.run(scdp, transfer, folder / f"lab-{transfer.file}")
    for index, condition in enumerate(CONDITIONS):
        yield Runs(transfer.name, condition, "real", "", tuple(real[condition]))
        simulated = worlds_sim.run(transfer, condition, folder / f"sim-{transfer.file}-{index}")
        yield Runs(transfer.name, condition, "simulated", "", tuple(simulated))


def examine(scdp: Path, folder: Path, experiment: Experiment) -> Iterator[Runs]:
    """An experiment."""
    for transfer in (one for one in TRANSFERS if one.file in experiment.transfers):
        if experiment.lab is not None:
            out = folder / f"lab-{transfer.file}"
            real = worlds_lab.run(
                scdp, transfer, out, conditions=experiment.conditions, repeat=5, changes=experiment.lab
            )
            for condition, runs in real.items():
                yield Runs(transfer.name, condition, "real", experiment.changed, tuple(runs))
        for condition in experiment.conditions if experiment.simulated else ():
            out = folder / f"sim-{transfer.file}-{CONDITIONS.index(condition)}"
            simulated = worlds_sim.run(
                transfer, condition, out, settings=experiment.settings, changes=experiment.fabric
            )
            yield Runs(transfer.name, condition, "simulated", experiment.changed, tuple(simulated))


def machine() -> str:
    """What the real hosts ran on."""
    return f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()} {platform.release().split('-')[0]}"


def run(scdp: Path, *, everything: bool) -> Iterator[Runs]:
    """The comparison, and the experiments if everything is to be run."""
    with tempfile.TemporaryDirectory(prefix="worlds-") as name:
        for transfer in TRANSFERS:
            print(f"{transfer.name} ...", file=sys.stderr)
            yield from compare(scdp, Path(name), transfer)
        for number, experiment in enumerate(EXPERIMENTS if everything else ()):
            print(f"{experiment.changed} ...", file=sys.stderr)
            yield from examine(scdp, Path(name) / f"experiment-{number}", experiment)


def main() -> int:
    """Runs everything; see the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scdp", type=Path, default=ROOT / "target/release/scdp", help="the program")
    parser.add_argument("--record", action="store_true", help=f"run the experiments, too, and write {PAGE.name}")
    parser.add_argument("--page", action="store_true", help=f"run nothing, and write {PAGE.name} from the record")
    arguments = parser.parse_args()
    if arguments.page:
        record = worlds_page.Record.of_json(RECORD.read_text(encoding="utf-8"))
    else:
        record = worlds_page.Record(machine(), tuple(run(arguments.scdp.resolve(), everything=arguments.record)))
    print(worlds_page.tables(record))
    if arguments.record:
        RECORD.write_text(record.as_json(), encoding="utf-8")
    if arguments.record or arguments.page:
        PAGE.write_text(worlds_page.page(record), encoding="utf-8")
    unexplained = [one for one in worlds_page.differences(record) if one.why is None]
    for one in unexplained:
        print(f"unexplained: {one.text()}", file=sys.stderr)
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
