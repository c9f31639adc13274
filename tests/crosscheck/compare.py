"""Runs the same traffic in this simulator and in ns-3, and compares what comes out.

Called by `make crosscheck-ns3`; what is compared, and why some of it differs, is in `docs/fidelity/crosscheck-ns3.md`.
Standard library only. Exits with 1 if a metric differs by more than the tolerance and `explained.toml` does not say
why, with 2 if a run fails.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TOLERANCE = 0.10
"""A ratio of ours to ns-3's is good within 1 +- this."""

SEEDS = {"long": 8, "dumbbell": 40, "permutation": 20}
"""Independent runs of each scenario: single flows are chaotic, their distribution is not."""

TRANSPORTS = ("newreno", "newreno-sack", "dctcp")
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
class Explained:
    """A difference that is understood: between which ratios it lies, and the place that explains it."""

    scenario: str
    transport: str
    metric: str
    ratio: tuple[float, float]
    why: str


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    metric: str
    ours: float
    theirs: float
    verdict: str

    @property
    def ratio(self) -> float:
        """Ours over ns-3's; 1 if both are nothing."""
        if self.theirs == 0:
            return 1.0 if self.ours == 0 else float("inf")
        return self.ours / self.theirs


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


def pair(ours: Path, theirs: Path, scenario: str, transport: str, seed: int) -> tuple[Run, Run]:
    """The same run in both simulators."""
    which = (scenario, transport, str(seed))
    case, _ = execute([ours, "case", *which])
    here, there = parse(*execute([ours, "run", *which])), parse(*execute([theirs], case))
    if [(f.source, f.sink) for f in here.flows] != [(f.source, f.sink) for f in there.flows]:
        raise RuntimeError(f"{which}: the simulators ran different flows")
    if scenario != "long" and [f.delivered for f in here.flows] != [f.delivered for f in there.flows]:
        raise RuntimeError(f"{which}: the simulators delivered different bytes")
    return here, there


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
    if scenario == "long":
        rates = [8e3 * sum(f.delivered for f in run.flows) / run.simulated_ns for run in runs]
        metrics["goodput of all flows, Mbit/s"] = statistics.mean(rates)
    else:
        flows = [f for run in runs for f in run.flows]
        times = [f.took_ns / 1e6 for f in flows]
        metrics["FCT mean, ms"] = statistics.mean(times)
        metrics["FCT p50, ms"] = percentile(times, 50)
        metrics["FCT p99, ms"] = percentile(times, 99)
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


def read_explained(path: Path) -> list[Explained]:
    """The differences that are understood."""
    with path.open("rb") as file:
        entries = tomllib.load(file).get("difference", [])
    return [
        Explained(e["scenario"], e["transport"], e["metric"], (float(e["ratio"][0]), float(e["ratio"][1])), e["why"])
        for e in entries
    ]


def judge(ratio: float, metric: str, explained: Sequence[Explained]) -> str:
    """`ok`, `explained (..)` or `OFF`."""
    if abs(ratio - 1) <= TOLERANCE:
        return "ok"
    for entry in explained:
        if metric.startswith(entry.metric) and entry.ratio[0] <= ratio <= entry.ratio[1]:
            return f"explained: {entry.why}"
    return "OFF"


def table(scenario: str, transport: str, runs: Sequence[tuple[Run, Run]], explained: Sequence[Explained]) -> list[Row]:
    """The rows of one scenario and transport."""
    ours, theirs = measure(scenario, [r[0] for r in runs]), measure(scenario, [r[1] for r in runs])
    known = [e for e in explained if e.scenario == scenario and e.transport == transport]
    rows = []
    for metric, value in ours.items():
        row = Row(metric, value, theirs[metric], "")
        rows.append(Row(metric, value, theirs[metric], judge(row.ratio, metric, known)))
    return rows


def main() -> int:
    """Runs everything and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ours", type=Path, required=True, help="the example `crosscheck`")
    parser.add_argument("--ns3", type=Path, required=True, help="the program made of ns3_crosscheck.cc")
    parser.add_argument("--explained", type=Path, default=Path(__file__).with_name("explained.toml"))
    parser.add_argument("--only", help="a single scenario")
    parser.add_argument("--transport", help="a single transport")
    arguments = parser.parse_args()
    explained = read_explained(arguments.explained)

    print("| scenario | transport | metric | ours | ns-3 | ratio | verdict |")
    print("|---|---|---|---:|---:|---:|---|")
    off = 0
    speeds: list[str] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for scenario, seeds in SEEDS.items():
            for transport in TRANSPORTS:
                if arguments.only not in {None, scenario} or arguments.transport not in {None, transport}:
                    continue
                jobs = [
                    pool.submit(pair, arguments.ours, arguments.ns3, scenario, transport, seed)
                    for seed in range(1, seeds + 1)
                ]
                try:
                    runs = [job.result() for job in jobs]
                except (RuntimeError, ValueError) as error:
                    pool.shutdown(cancel_futures=True)
                    print(f"error: {error}", file=sys.stderr)
                    return 2
                for row in table(scenario, transport, runs, explained):
                    off += row.verdict == "OFF"
                    print(
                        f"| {scenario} | {transport} | {row.metric} | {row.ours:.4g} | {row.theirs:.4g} "
                        f"| {row.ratio:.3f} | {row.verdict} |",
                        flush=True,
                    )
                here, there = sum(r[0].user_s for r in runs), sum(r[1].user_s for r in runs)
                speeds.append(f"| {scenario} | {transport} | {seeds} | {here:.2f} | {there:.2f} | {there / here:.0f} |")
    print("\n| scenario | transport | runs | ours, user CPU s | ns-3, user CPU s | ns-3 / ours |")
    print("|---|---|---:|---:|---:|---:|")
    print("\n".join(speeds))
    if off:
        print(f"\n{off} metrics are more than {TOLERANCE:.0%} off and unexplained.", file=sys.stderr)
    return 1 if off else 0


if __name__ == "__main__":
    sys.exit(main())
