"""Compares the simulator with the kernel's own TCP: the same settings in network namespaces and as scenarios.

Called by `make linux-record`; the result is docs/fidelity/linux.md. Needs the simulator, the program `scdp`, and a
kernel with htb, RED, netem and DCTCP: the host's (root, or users may make namespaces), or one of tools/linux-vm.
"""

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

import linux_lab
import linux_page
import linux_sim
from linux_case import EXPERIMENTS, ROOT, RULES, Case

PAGE = ROOT / "docs/fidelity/linux.md"
RECORD = ROOT / "docs/fidelity/data/linux.json"
REPEAT = 5


GROUP = 4
"""Cases of one virtual machine. What was measured is kept when it is done."""


def recorded() -> linux_page.Record:
    if not RECORD.exists():
        return linux_page.Record({}, {}, {})
    return linux_page.Record.of_json(RECORD.read_text(encoding="utf-8"))


def keep(record: linux_page.Record) -> None:
    RECORD.write_text(record.as_json(), encoding="utf-8")


def measure_kernel(scdp: Path, cases: list[Case], folder: Path, kernel: Path | None, jobs: int) -> None:
    """Runs cases with the kernel, and keeps each group's.

    Raises:
        OtherKernelError: The record has results of another kernel that would stay.
    """
    made = linux_lab.describe(folder / "made", kernel=kernel)
    keep(recorded().measured_with(made, [case.key for case in cases]))
    lock = Lock()

    def measure(at: int) -> None:
        told = linux_lab.run(scdp, cases[at : at + GROUP], folder / f"lab-{at}", repeat=REPEAT, kernel=kernel)
        summaries = {key: [one.summary() for one in runs] for key, runs in told.items()}
        with lock:
            old = recorded()
            keep(linux_page.Record(made, {**old.kernel, **summaries}, old.simulator))
            for key, runs in summaries.items():
                print(f"kernel: {key}: {runs[0]}", flush=True)

    with ThreadPoolExecutor(jobs) as pool:
        list(pool.map(measure, range(0, len(cases), GROUP)))


def measure_simulator(cases: list[Case], folder: Path) -> None:
    """Runs what has a counterpart in the simulator."""
    old = recorded()
    simulator = dict(old.simulator)
    for case in {case.simulated: case for case in cases}.values():
        for rules in RULES:
            key = case.simulated_by(rules)
            spread = linux_page.spread(old, case)
            runs = linux_sim.run(case, folder / f"sim-{key}", seeds=REPEAT, rules=rules, spread_us=spread)
            simulator[key] = [one.summary() for one in runs]
            print(f"simulator: {key}: {simulator[key][0]}", flush=True)
    keep(linux_page.Record(old.made, old.kernel, simulator))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--scdp", type=Path, default=ROOT / "target/release/scdp", help="the program; default: %(default)s"
    )
    parser.add_argument("--kernel", type=Path, help="a kernel made by tools/linux-vm/build; default: the host's")
    parser.add_argument("--only", nargs="+", choices=EXPERIMENTS, default=list(EXPERIMENTS), help="these experiments")
    parser.add_argument(
        "--world", choices=("kernel", "simulator"), help="this world; what is left out stays as recorded"
    )
    parser.add_argument("--jobs", type=int, default=1, help="virtual machines at a time: time is virtual there")
    parser.add_argument("--page", action="store_true", help="only write the page again")
    arguments = parser.parse_args()
    arguments.scdp, arguments.kernel = arguments.scdp.resolve(), arguments.kernel and arguments.kernel.resolve()
    if arguments.jobs > 1 and arguments.kernel is None:
        parser.error("--jobs needs --kernel: without a virtual machine, one would disturb the other")
    cases = [case for name in arguments.only for case in EXPERIMENTS[name]()]
    with tempfile.TemporaryDirectory() as folder:
        if arguments.world != "simulator" and not arguments.page:
            try:
                measure_kernel(arguments.scdp, cases, Path(folder), arguments.kernel, arguments.jobs)
            except (linux_lab.LabError, linux_page.OtherKernelError) as error:
                sys.exit(f"error: {error}")
        if arguments.world != "kernel" and not arguments.page:
            measure_simulator(cases, Path(folder))
    record = recorded()
    missing = record.missing()
    if missing:
        sys.exit(f"the page is written once all is measured; not yet: {', '.join(missing)}")
    PAGE.write_text(linux_page.page(record), encoding="utf-8")


if __name__ == "__main__":
    main()
