"""The page docs/fidelity/linux.md: the template with tables and numbers from the record."""

import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linux_case import AVERAGED, EXACT, EXPERIMENTS, HERE, MININET, NO_PROBES, OFFLOADED, Case, interval

TEMPLATE = HERE / "linux.template.md"
LAYOUTS = (EXACT, AVERAGED, MININET, OFFLOADED)
NAMES = {"dctcp": "DCTCP", "ecn-star": "ECN*", "reno": "Reno"}
LAYOUT_NAMES = {
    EXACT: "Linux, queue as it is",
    AVERAGED: "Linux, RED averages",
    MININET: "Linux, as Mininet",
    OFFLOADED: "Linux, as Mininet, offload",
}


class OtherKernelError(ValueError):
    """A record has results of another kernel."""


@dataclass(frozen=True)
class Record:
    """What was measured, and what with: in each world the summaries of the runs, by the keys of cases.

    All of the kernel's results are of one kernel, that of `made`. Its `counts` are the mean of a case's runs,
    in each of them.
    """

    made: Mapping[str, Any]
    kernel: Mapping[str, Sequence[Mapping[str, Any]]]
    simulator: Mapping[str, Sequence[Mapping[str, Any]]]

    @classmethod
    def of_json(cls, text: str) -> "Record":
        return cls(**json.loads(text))

    def as_json(self) -> str:
        each = [json.dumps(self.made)]
        for world in (self.kernel, self.simulator):
            rows = (f"  {json.dumps(key)}: {json.dumps(runs)}" for key, runs in sorted(world.items()))
            each.append("{\n" + ",\n".join(rows) + "\n }")
        made, kernel, simulator = each
        return f'{{\n "made": {made},\n "kernel": {kernel},\n "simulator": {simulator}\n}}\n'

    def measured_with(self, made: Mapping[str, Any], keys: Collection[str]) -> "Record":
        """The record to which the kernel's results of these keys are added.

        Raises:
            OtherKernelError: Results that would stay were measured with another kernel.
        """
        if not self.kernel or made == self.made:
            return Record(made, self.kernel, self.simulator)
        staying = sorted(self.kernel.keys() - set(keys))
        if staying:
            raise OtherKernelError(
                f"{len(staying)} results that would stay were measured with {dict(self.made)}, not with {dict(made)}, "
                f"the first is {staying[0]}; hint: measure all experiments again, or use that kernel"
            )
        return Record(made, {}, self.simulator)

    def missing(self) -> list[str]:
        """The keys of cases that one of the worlds has not run."""
        every = [case for cases in EXPERIMENTS.values() for case in cases()]
        return [case.key for case in every if case.key not in self.kernel or case.simulated not in self.simulator]

    def runs(self, case: Case, *, real: bool) -> Sequence[Mapping[str, Any]]:
        return self.kernel[case.key] if real else self.simulator[case.simulated]

    def values(self, case: Case, value: Callable[[Mapping[str, Any]], float], *, real: bool) -> tuple[float, float]:
        """Mean and half of the 95 % confidence interval."""
        return interval([value(run) for run in self.runs(case, real=real)])


def mbps(run: Mapping[str, Any]) -> float:
    return float(run["mbps"])


def shown(value: tuple[float, float], digits: int) -> str:
    return f"{value[0]:.{digits}f} ± {value[1]:.{digits}f}"


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---"] + ["---:"] * (len(heading) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cases(experiment: str, **chosen: object) -> list[Case]:
    """The cases of an experiment whose fields have these values."""
    wanted = chosen.items()
    return [case for case in EXPERIMENTS[experiment]() if all(getattr(case, name) == value for name, value in wanted)]


def gain(record: Record, transport: str, senders: int, layout: str, *, real: bool) -> tuple[float, float]:
    """What the higher threshold adds, in percent, and half of the interval, from those of both throughputs."""
    lower, upper = cases("adaptation", transport=transport, senders=senders, layout=layout)
    (low, low_half), (high, high_half) = (record.values(case, mbps, real=real) for case in (lower, upper))
    half = high / low * ((low_half / low) ** 2 + (high_half / high) ** 2) ** 0.5
    return 100 * (high / low - 1), 100 * half


THESIS_GAIN = {"dctcp": 12, "ecn-star": 22}
"""Percent (Joy §4.4.3)."""


def twins(transport: str, senders: int, mark: int) -> list[Case | None]:
    """The case of each layout; none where that was not measured."""
    found = cases("adaptation", transport=transport, senders=senders, mark=mark)
    return [next((case for case in found if case.layout == layout), None) for layout in LAYOUTS]


def gains(record: Record) -> str:
    rows = []
    for transport, thesis in THESIS_GAIN.items():
        for senders in (2, 3, 4):
            real = [
                shown(gain(record, transport, senders, twin.layout, real=True), 2) if twin else ""
                for twin in twins(transport, senders, 10)
            ]
            simulated = shown(gain(record, transport, senders, EXACT, real=False), 2)
            rows.append([f"{NAMES[transport]}, {senders} flows", str(thesis), simulated, *real])
    return table(["gain, %", "thesis", "simulator", *(LAYOUT_NAMES[one] for one in LAYOUTS)], rows)


def share(record: Record, case: Case, *, real: bool) -> str:
    """What the flows have of the payload that the link carries, in percent."""
    value, half = record.values(case, mbps, real=real)
    return shown((100 * value / case.capacity, 100 * half / case.capacity), 2)


def shares(record: Record) -> str:
    rows = []
    for case in cases("adaptation", layout=EXACT):
        assert case.mark is not None
        real = [
            share(record, twin, real=True) if twin else "" for twin in twins(case.transport, case.senders, case.mark)
        ]
        name = f"{NAMES[case.transport]}, {case.senders} flows, K = {case.mark}"
        rows.append([name, share(record, case, real=False), *real])
    return table(["% of the link", "simulator", *(LAYOUT_NAMES[one] for one in LAYOUTS)], rows)


def queues(record: Record) -> str:
    def row(name: str, case: Case, *, real: bool) -> list[str]:
        runs = record.runs(case, real=real)
        each = [interval([run["queue"][at] for run in runs]) for at in range(4)]
        share = record.values(case, mbps, real=real)[0] / case.capacity
        return [name, shown(each[0], 2), *(f"{value:.1f}" for value, _ in each[1:]), f"{100 * share:.2f}"]

    (exact,) = cases("queue", layout=EXACT)
    rows = [row("simulator", exact, real=False)]
    rows += [row(LAYOUT_NAMES[case.layout], case, real=True) for case in cases("queue")]
    heading = ["packets", "mean", "5th percentile", "median", "95th percentile", "% of the link"]
    return table(heading, [["thesis", "around 5", "", "", "", ""], *rows])


def blocks(record: Record, experiment: str, label: Callable[[Case], str], transport: str) -> str:
    """Goodput by case: the simulator, the kernel, and the kernel without probes where that was measured."""
    rows = []
    bare = {case.simulated: case for case in cases(experiment, transport=transport, sysctl=NO_PROBES)}
    for case in cases(experiment, transport=transport, sysctl={}):
        values = [record.values(case, mbps, real=False), record.values(case, mbps, real=True)]
        if case.simulated in bare:
            values.append(record.values(bare[case.simulated], mbps, real=True))
        runs = record.runs(case, real=True)
        timeouts = sum(run["counts"]["TCPTimeouts"] for run in runs) / len(runs) / case.requests
        rows.append([label(case), *(shown(value, 1) for value in values), f"{timeouts:.1f}"])
    without = ["Linux without probes and RACK"] if bare else []
    return table(["goodput, Mbps", "simulator", "Linux", *without, "timeouts a request, Linux"], rows)


def page(record: Record) -> str:
    """The whole page."""

    def by_senders(case: Case) -> str:
        return f"{case.senders} senders"

    def by_buffer(case: Case) -> str:
        return f"{case.senders} senders, {case.buffer} packets"

    texts = {
        "gains": lambda: gains(record),
        "shares": lambda: shares(record),
        "queues": lambda: queues(record),
        "incast-dctcp": lambda: blocks(record, "incast", by_senders, "dctcp"),
        "incast-reno": lambda: blocks(record, "incast", by_senders, "reno"),
        "song": lambda: blocks(record, "song", by_buffer, "reno"),
    }

    def replace(found: re.Match[str]) -> str:
        what, *words = found[1].split()
        if what in texts:
            return texts[what]()
        if what == "made":
            return str(record.made[words[0]])
        if what == "gain":
            transport, senders, layout = words
            real = layout != "simulator"
            return f"{gain(record, transport, int(senders), layout if real else EXACT, real=real)[0]:.1f}"
        if what == "weight":
            transport, mark = words
            return f"{1 / cases('adaptation', transport=transport, layout=MININET, mark=int(mark))[0].red_weight:.0f}"
        raise ValueError(f"{TEMPLATE.name}: nothing is called {found[0]}")

    return re.sub(r"\{\{([^}]*)\}\}", replace, TEMPLATE.read_text(encoding="utf-8"))
