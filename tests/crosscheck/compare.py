"""Runs the same traffic in this simulator and in ns-3, and compares what comes out.

Called by `make crosscheck-ns3`; what is compared, and why some of it differs, is in `docs/fidelity/crosscheck-ns3.md`.
Standard library only. Exits with 1 if a metric differs by more than the tolerance and `explained.toml` does not say
why, with 2 if a run fails.
"""

import argparse
import hashlib
import os
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from crosscheck_page import Row, full_table, record, summary

TOLERANCE = 0.10
"""A ratio of ours to ns-3's is good within 1 +- this."""

PACKET_BYTES = 1502
"""A full packet on the wire of ns-3's point-to-point link: 1460 of data, 40 of TCP and IP, 2 of PPP."""


@dataclass(frozen=True)
class Flow:
    """One transfer: bytes that arrived, and the time until the last of them (0: endless)."""

    source: int
    sink: int
    delivered: int
    took_ns: int


@dataclass(frozen=True)
class Port:
    """One egress port of a switch."""

    sent_bytes: int
    queue_byte_ns: float
    dropped: int
    marked: int


@dataclass(frozen=True)
class Run:
    """What one simulator says of one run, and the user CPU seconds that its process took."""

    flows: tuple[Flow, ...]
    ports: tuple[Port, ...]
    simulated_ns: int
    events: int
    user_s: float


@dataclass(frozen=True)
class Scenario:
    """Transports, independent starts (single flows are chaotic, their distribution is not), flows without end."""

    transports: tuple[str, ...]
    starts: int
    endless: int = 0


SCENARIOS = {
    "long": Scenario(("newreno", "newreno-sack", "dctcp"), 8, endless=4),
    "dumbbell": Scenario(("newreno", "newreno-sack", "dctcp"), 40),
    "permutation": Scenario(("newreno", "newreno-sack", "dctcp"), 20),
    "star": Scenario(("newreno-sack", "dctcp-k5", "dctcp-k20"), 30, endless=2),
}


@dataclass(frozen=True)
class Setting:
    """What is run in both simulators: a scenario with a transport, perhaps with something changed."""

    scenario: str
    transport: str
    changes: tuple[str, ...] = ()
    shows: str = ""
    """What the changes take away; nothing in a comparison with ns-3 as it is."""


@dataclass(frozen=True)
class Explained:
    """A difference that is understood: between which ratios it lies, and the place that explains it."""

    setting: Setting
    metric: str
    ratio: tuple[float, float]
    why: str


def execute(command: Sequence[str | Path], stdin: str = "") -> tuple[str, float]:
    """Runs a program; its output, and its user CPU seconds."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(stdin)
        process.stdin.close()
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {process.returncode}")
    return output, usage.ru_utime


def parse(output: str, user_s: float) -> Run:
    """Reads the lines that both programs print."""
    flows: list[Flow] = []
    ports: list[Port] = []
    simulated_ns = events = 0
    for line in output.splitlines():
        kind, *fields = line.split(",")
        if kind == "flow":
            flows.append(Flow(*map(int, fields)))
        elif kind == "port":
            _, _, sent, integral, dropped, marked = fields
            ports.append(Port(int(sent), float(integral), int(dropped), int(marked)))
        elif kind == "run":
            simulated_ns, events = map(int, fields)
        else:
            raise ValueError(f"unexpected line: {line}")
    if not flows or not ports or simulated_ns == 0:
        raise ValueError("the output is not complete")
    flows.sort(key=lambda f: f.source)
    return Run(tuple(flows), tuple(ports), simulated_ns, events, user_s)


@dataclass(frozen=True)
class Ns3:
    """The program made of ns3_crosscheck.cc, and a folder where it keeps what it has computed: ns-3 takes minutes."""

    program: Path
    kept: Path
    digest: bytes

    @classmethod
    def at(cls, program: Path) -> "Ns3":
        """With its results in a folder beside it; another program has others."""
        kept = program.with_name("ns3_results")
        kept.mkdir(exist_ok=True)
        return cls(program, kept, hashlib.sha256(program.read_bytes()).digest())

    def run(self, case: str) -> Run:
        """One run."""
        file = self.kept / hashlib.sha256(self.digest + case.encode()).hexdigest()
        if file.exists():
            user_s, _, output = file.read_text(encoding="utf-8").partition("\n")
            return parse(output, float(user_s))
        output, spent = execute([self.program], case)
        run = parse(output, spent)
        whole = file.with_suffix(".new")
        whole.write_text(f"{spent}\n{output}", encoding="utf-8")
        whole.rename(file)
        return run


def pair(ours: Path, theirs: Ns3, setting: Setting, seed: int) -> tuple[Run, Run]:
    """The same run in both simulators."""
    which = (setting.scenario, setting.transport, str(seed), *setting.changes)
    case, _ = execute([ours, "case", *which])
    here, there = parse(*execute([ours, "run", *which])), theirs.run(case)
    if [(f.source, f.sink) for f in here.flows] != [(f.source, f.sink) for f in there.flows]:
        raise RuntimeError(f"{which}: the simulators ran different flows")
    endless = SCENARIOS[setting.scenario].endless
    for run, name in ((here, "here"), (there, "in ns-3")):
        unfinished = sum(f.took_ns == 0 for f in run.flows) - endless
        if unfinished:
            raise RuntimeError(f"{which}: {unfinished} flows did not complete {name}")
    if finished(here) != finished(there):
        raise RuntimeError(f"{which}: the simulators delivered different bytes")
    return here, there


def finished(run: Run) -> list[tuple[int, int]]:
    """Sender and bytes of each flow that has an end."""
    return [(f.source, f.delivered) for f in run.flows if f.took_ns > 0]


def percentile(values: Sequence[float], percent: int) -> float:
    """A percentile, with linear interpolation."""
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def bottleneck(run: Run) -> Port:
    """The port of a dumbbell that everything crosses."""
    return max(run.ports, key=lambda p: p.sent_bytes)


def signals(runs: Iterable[Run]) -> float:
    """Percentage of the full packets offered to switch ports that was dropped or marked."""
    ports = [p for run in runs for p in run.ports]
    count = sum(p.dropped + p.marked for p in ports)
    return 100 * count / (sum(p.sent_bytes for p in ports) / PACKET_BYTES + sum(p.dropped for p in ports))


def measure(scenario: str, runs: Sequence[Run]) -> dict[str, float]:
    """The metrics of a scenario over its runs."""
    metrics: dict[str, float] = {}
    flows = [f for run in runs for f in run.flows if f.took_ns > 0]
    if SCENARIOS[scenario].endless:
        which = "long" if flows else "all"
        rates = [8e3 * sum(f.delivered for f in run.flows if f.took_ns == 0) / run.simulated_ns for run in runs]
        metrics[f"goodput of {which} flows, Mbit/s"] = statistics.mean(rates)
    if flows:
        times = [f.took_ns / 1e6 for f in flows]
        metrics["FCT mean, ms"] = statistics.mean(times)
        for percent in (50, 95, 99) if scenario == "star" else (50, 99):
            metrics[f"FCT p{percent}, ms"] = percentile(times, percent)
    if flows and scenario != "star":
        metrics["goodput of a flow, mean, Mbit/s"] = statistics.mean(8e3 * f.delivered / f.took_ns for f in flows)
    if scenario == "permutation":
        ports = [p for run in runs for p in run.ports]
        wait = sum(p.queue_byte_ns for p in ports) / sum(p.sent_bytes for p in ports)
        metrics["wait at a switch port, mean, us"] = wait / 1e3
    else:
        lengths = [bottleneck(run).queue_byte_ns / run.simulated_ns / PACKET_BYTES for run in runs]
        metrics["bottleneck queue, mean, packets"] = statistics.mean(lengths)
    metrics["packets dropped or marked, %"] = signals(runs)
    return metrics


def read_setting(entry: dict[str, Any]) -> Setting:
    """What a difference or an experiment is about."""
    return Setting(entry["scenario"], entry["transport"], tuple(entry.get("changes", ())), entry.get("shows", ""))


def read_explained(path: Path) -> tuple[list[Explained], list[Setting]]:
    """The differences that are understood, and the experiments that show what they come from."""
    with path.open("rb") as file:
        content = tomllib.load(file)
    differences = [
        Explained(read_setting(e), e["metric"], (float(e["ratio"][0]), float(e["ratio"][1])), e["why"])
        for e in content.get("difference", [])
    ]
    return differences, [read_setting(e) for e in content.get("experiment", [])]


def judge(ratio: float, metric: str, explained: Sequence[Explained]) -> str:
    """`ok`, `explained (..)` or `OFF`."""
    if abs(ratio - 1) <= TOLERANCE:
        return "ok"
    for entry in explained:
        if metric.startswith(entry.metric) and entry.ratio[0] <= ratio <= entry.ratio[1]:
            return f"explained: {entry.why}"
    return "OFF"


def table(setting: Setting, runs: Sequence[tuple[Run, Run]], explained: Sequence[Explained]) -> list[Row]:
    """The rows of one setting."""
    ours, theirs = (measure(setting.scenario, [r[side] for r in runs]) for side in (0, 1))
    known = [e for e in explained if e.setting == replace(setting, shows="")]
    rows = []
    for metric, value in ours.items():
        row = Row(setting.scenario, setting.transport, setting.shows, metric, value, theirs[metric], "")
        rows.append(replace(row, verdict=judge(row.ratio, metric, known)))
    return rows


def run_all(pool: Executor, ours: Path, ns3: Ns3, settings: Sequence[Setting], known: Sequence[Explained]) -> list[Row]:
    """Runs settings one after the other and prints each row as it comes, and at the end what it cost."""
    rows: list[Row] = []
    speeds: list[str] = []
    print(full_table([]))
    for setting in settings:
        starts = SCENARIOS[setting.scenario].starts
        jobs = [pool.submit(pair, ours, ns3, setting, seed) for seed in range(1, starts + 1)]
        runs = [job.result() for job in jobs]
        new = table(setting, runs, known)
        print("\n".join(row.line() for row in new), flush=True)
        rows += new
        here, there = (sum(r[side].user_s for r in runs) for side in (0, 1))
        name = f"{setting.scenario} | {setting.transport} | {setting.shows}"
        speeds.append(f"| {name} | {starts} | {here:.2f} | {there:.2f} | {there / here:.0f} |")
    print(
        "\n| scenario | transport | done in ns-3 as here | runs | ours, user CPU s | ns-3, user CPU s | ns-3 / ours |"
    )
    print("|---|---|---|---:|---:|---:|---:|")
    print("\n".join(speeds))
    return rows


def main() -> int:
    """Runs everything and prints Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours", type=Path, required=True, help="the example `crosscheck`")
    parser.add_argument("--ns3", type=Path, required=True, help="the program made of ns3_crosscheck.cc")
    parser.add_argument("--versions", default="ns-3", help="what the page is to say of ns-3 and the machine")
    parser.add_argument("--explained", type=Path, default=Path(__file__).with_name("explained.toml"))
    parser.add_argument("--only", choices=SCENARIOS, help="a single scenario")
    parser.add_argument("--transport", help="a single transport")
    parser.add_argument("--record", type=Path, metavar="PAGE", help="write the tables between the markers of this page")
    arguments = parser.parse_args()
    if arguments.record and (arguments.only or arguments.transport):
        parser.error("--record takes the place of all rows: it goes with neither --only nor --transport")
    explained, experiments = read_explained(arguments.explained)
    as_it_is = [Setting(name, transport) for name, scenario in SCENARIOS.items() for transport in scenario.transports]
    settings = [
        s
        for s in as_it_is + experiments
        if arguments.only in {None, s.scenario} and arguments.transport in {None, s.transport}
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            rows = run_all(pool, arguments.ours, Ns3.at(arguments.ns3), settings, explained)
            if arguments.record:
                record(arguments.record, result=summary(rows, arguments.versions), table=full_table(rows))
        except (OSError, RuntimeError, ValueError) as error:
            pool.shutdown(cancel_futures=True)
            print(f"error: {error}", file=sys.stderr)
            return 2
    off = sum(row.verdict == "OFF" for row in rows)
    if off:
        print(f"\n{off} metrics are more than {TOLERANCE:.0%} off and unexplained.", file=sys.stderr)
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
