"""The page docs/fidelity/linux.md: the template with tables and numbers from the record."""

import json
import re
import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from linux_case import (
    AVERAGED,
    BARE,
    EXACT,
    EXPERIMENTS,
    HERE,
    LINUX,
    MININET,
    NO_PROBES,
    OFFLOADED,
    RFC,
    RULES,
    Case,
    interval,
)

TEMPLATE = HERE / "linux.template.md"
LAYOUTS = (EXACT, AVERAGED, MININET, OFFLOADED)
NAMES = {"dctcp": "DCTCP", "ecn-star": "ECN*", "reno": "Reno"}
SIMULATED = {RFC: "simulator, RFC", LINUX: "simulator, as Linux"}
"""Of long flows."""
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
        """The keys of what one of the worlds has not run."""
        every = [case for cases in EXPERIMENTS.values() for case in cases()]
        simulated = dict.fromkeys(case.simulated_by(rules) for case in every for rules in RULES)
        return [
            *(case.key for case in every if case.key not in self.kernel),
            *(f"simulator: {key}" for key in simulated if key not in self.simulator),
        ]

    def runs(self, case: Case, rules: str | None) -> Sequence[Mapping[str, Any]]:
        """Of the simulator by these rules; of the kernel if there are none."""
        return self.kernel[case.key] if rules is None else self.simulator[case.simulated_by(rules)]

    def values(self, case: Case, value: Callable[[Mapping[str, Any]], float], rules: str | None) -> tuple[float, float]:
        """Mean and half of the 95 % confidence interval."""
        return interval([value(run) for run in self.runs(case, rules)])


def mbps(run: Mapping[str, Any]) -> float:
    return float(run["mbps"])


def shown(value: tuple[float, float], digits: int) -> str:
    """Never a zero with a minus."""
    return f"{round(value[0], digits) + 0.0:.{digits}f} ± {value[1]:.{digits}f}"


def table(heading: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heading, ["---"] + ["---:"] * (len(heading) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def cases(experiment: str, **chosen: object) -> list[Case]:
    """The cases of an experiment whose fields have these values."""
    wanted = chosen.items()
    return [case for case in EXPERIMENTS[experiment]() if all(getattr(case, name) == value for name, value in wanted)]


def thresholds(transport: str, senders: int, layout: str) -> tuple[Case, Case]:
    """The long flows' cases with the lower and the higher threshold."""
    lower, upper = cases("adaptation", transport=transport, senders=senders, layout=layout)
    return lower, upper


def gain(record: Record, transport: str, senders: int, layout: str, rules: str | None) -> tuple[float, float]:
    """What the higher threshold adds, in percent, and half of the interval, from those of both throughputs."""
    each = (record.values(case, mbps, rules) for case in thresholds(transport, senders, layout))
    (low, low_half), (high, high_half) = each
    half = high / low * ((low_half / low) ** 2 + (high_half / high) ** 2) ** 0.5
    return 100 * (high / low - 1), 100 * half


def collapsed(record: Record, transport: str, senders: int, layout: str) -> list[float]:
    """The throughputs of the kernel's runs at the lower threshold that have less than half of the median's."""
    each = [mbps(run) for run in record.runs(thresholds(transport, senders, layout)[0], None)]
    return [value for value in each if value < statistics.median(each) / 2]


def gain_of_others(record: Record, transport: str, senders: int, layout: str) -> float:
    """What the higher threshold adds in the kernel, in percent, without the runs that collapse at the lower one."""
    lower, upper = thresholds(transport, senders, layout)
    without = collapsed(record, transport, senders, layout)
    low = statistics.mean(value for run in record.runs(lower, None) if (value := mbps(run)) not in without)
    return 100 * (record.values(upper, mbps, None)[0] / low - 1)


THESIS_GAIN = {"dctcp": 12, "ecn-star": 22}
"""Percent for two flows, and up to as much for three and four (Joy §4.4.3)."""


def twins(transport: str, senders: int, mark: int) -> list[Case | None]:
    """The case of each layout; none where that was not measured."""
    found = cases("adaptation", transport=transport, senders=senders, mark=mark)
    return [next((case for case in found if case.layout == layout), None) for layout in LAYOUTS]


def gains(record: Record) -> str:
    rows = []
    for transport, thesis in THESIS_GAIN.items():
        for senders in (2, 3, 4):
            real = [
                shown(gain(record, transport, senders, twin.layout, None), 2) if twin else ""
                for twin in twins(transport, senders, 10)
            ]
            simulated = [shown(gain(record, transport, senders, EXACT, rules), 2) for rules in SIMULATED]
            told = str(thesis) if senders == 2 else f"up to {thesis}"
            rows.append([f"{NAMES[transport]}, {senders} flows", told, *simulated, *real])
    return table(["gain, %", "thesis", *SIMULATED.values(), *(LAYOUT_NAMES[one] for one in LAYOUTS)], rows)


def share(record: Record, case: Case, rules: str | None) -> str:
    """What the flows have of the payload that the link carries, in percent."""
    value, half = record.values(case, mbps, rules)
    return shown((100 * value / case.capacity, 100 * half / case.capacity), 2)


def shares(record: Record) -> str:
    rows = []
    for case in cases("adaptation", layout=EXACT):
        assert case.mark is not None
        real = [share(record, twin, None) if twin else "" for twin in twins(case.transport, case.senders, case.mark)]
        name = f"{NAMES[case.transport]}, {case.senders} flows, K = {case.mark}"
        rows.append([name, *(share(record, case, rules) for rules in SIMULATED), *real])
    return table(["% of the link", *SIMULATED.values(), *(LAYOUT_NAMES[one] for one in LAYOUTS)], rows)


def queues(record: Record) -> str:
    """Queues in packets; none where a packet has several segments."""

    def row(name: str, case: Case, rules: str | None) -> list[str]:
        runs = record.runs(case, rules)
        share = f"{100 * record.values(case, mbps, rules)[0] / case.capacity:.2f}"
        if case.layout == OFFLOADED:
            return [name, "", "", "", "", share]
        each = [interval([run["queue"][at] for run in runs]) for at in range(4)]
        return [name, shown(each[0], 2), *(f"{value:.1f}" for value, _ in each[1:]), share]

    (exact,) = cases("queue", layout=EXACT)
    rows = [row(name, exact, rules) for rules, name in SIMULATED.items()]
    rows += [row(LAYOUT_NAMES[case.layout], case, None) for case in cases("queue")]
    heading = ["packets", "mean", "5th percentile", "median", "95th percentile", "% of the link"]
    return table(heading, [["thesis", "around 5", "", "", "", ""], *rows])


@dataclass(frozen=True)
class World:
    """A column of Incast."""

    name: str
    rules: str | None
    """Of the simulator; none: the kernel."""
    sysctl: Mapping[str, int]
    """Of the kernel whose case it is."""


WORLDS = {
    "rfc": World("simulator, RFC", RFC, {}),
    "bare-simulator": World("simulator, as Linux without RACK", BARE, NO_PROBES),
    "bare": World("Linux without RACK", None, NO_PROBES),
    "simulator": World("simulator, as Linux", LINUX, {}),
    "linux": World("Linux", None, {}),
}


def spread(record: Record, case: Case) -> float | None:
    """Microseconds within which the kernel's requests leave; none where that was not measured."""
    known = [run["spread_us"] for run in record.kernel.get(case.key, ()) if "spread_us" in run]
    return statistics.mean(known) if known else None


def slowest(run: Mapping[str, Any]) -> float:
    """Seconds of the slowest request of a run."""
    return float(run["seconds"][2])


@dataclass(frozen=True)
class Block:
    """Requests of one setting in one world."""

    record: Record
    case: Case
    rules: str | None

    @classmethod
    def of(cls, record: Record, simulated: Case, world: str) -> "Block":
        """The block of a world."""
        where = WORLDS[world]
        found = [case for case in cases(simulated.experiment) if case.simulated == simulated.simulated]
        (case,) = (case for case in found if case.sysctl == where.sysctl)
        return cls(record, case, where.rules)

    @property
    def runs(self) -> Sequence[Mapping[str, Any]]:
        return self.record.runs(self.case, self.rules)

    @property
    def goodput(self) -> tuple[float, float]:
        return self.record.values(self.case, mbps, self.rules)

    def told(self, what: str) -> str:
        """A number for a sentence or a cell."""
        if what == "goodput":
            return f"{self.goodput[0]:.1f}"
        if what == "each":
            return ", ".join(f"{value:.0f}" for value in sorted(map(mbps, self.runs)))
        if what == "slowest":
            return f"{1000 * max(map(slowest, self.runs)):.0f}"
        if what == "spread":
            return f"{statistics.mean(run['spread_us'] for run in self.runs):.0f}"
        if what == "stalled":
            return str(sum(slowest(run) >= STALL for run in self.runs))
        # A counter of the kernel, in a run.
        return f"{statistics.mean(run['counts'][what] for run in self.runs):.1f}"


STALL = 0.2
"""Seconds, the minimum timeout. Requests of Incast that do not wait take less than a tenth of it."""


def blocks(
    record: Record,
    experiment: str,
    label: Callable[[Case], str],
    transport: str,
    cell: Callable[[Block], str],
) -> str:
    """A table of requests: a row for each case, a column for each world."""
    rows = [
        [label(case), *(cell(Block.of(record, case, world)) for world in WORLDS)]
        for case in cases(experiment, transport=transport, sysctl={})
    ]
    return table(["", *(world.name for world in WORLDS.values())], rows)


def goodputs(block: Block) -> str:
    """Goodput with its interval."""
    return shown(block.goodput, 1)


def waits(block: Block) -> str:
    """The slowest of all requests."""
    return block.told("slowest")


def numbers(record: Record) -> dict[str, Callable[..., str]]:
    """What the template can ask for in a sentence, by its first word."""

    def one_gain(transport: str, senders: str, layout: str) -> str:
        rules = {"simulator": RFC, "simulator-linux": LINUX}.get(layout)
        value, _ = gain(record, transport, int(senders), layout if rules is None else EXACT, rules)
        return f"{round(value, 1) + 0.0:.1f}"

    def collapsed_runs(what: str, transport: str, senders: str, layout: str) -> str:
        values = collapsed(record, transport, int(senders), layout)
        return str(len(values)) if what == "number" else ", ".join(f"{value:.2f}" for value in values)

    def weight(transport: str, mark: str) -> str:
        return f"{1 / cases('adaptation', transport=transport, layout=MININET, mark=int(mark))[0].red_weight:.0f}"

    def block(what: str, experiment: str, transport: str, senders: str, buffer: str, world: str) -> str:
        case = cases(experiment, transport=transport, senders=int(senders), buffer=int(buffer))[0]
        return Block.of(record, case, world).told(what)

    def first(what: str, experiment: str, transport: str, world: str) -> str:
        """The least number of senders with a run that stalls."""
        assert what == "stalled"
        each = (Block.of(record, case, world) for case in cases(experiment, transport=transport, sysctl={}))
        return str(next(block.case.senders for block in each if int(block.told(what))))

    return {
        "made": lambda what: str(record.made[what]),
        "runs": lambda: str(len(next(iter(record.kernel.values())))),
        "gain": one_gain,
        "others": lambda transport, senders, layout: f"{gain_of_others(record, transport, int(senders), layout):.1f}",
        "collapsed": collapsed_runs,
        "weight": weight,
        "block": block,
        "first": first,
    }


def page(record: Record) -> str:
    """The whole page."""

    def by_senders(case: Case) -> str:
        return f"{case.senders} senders"

    def by_buffer(case: Case) -> str:
        return f"{case.senders} senders, {case.buffer} packets"

    texts: dict[str, Callable[..., str]] = {
        "gains": lambda: gains(record),
        "shares": lambda: shares(record),
        "queues": lambda: queues(record),
        "incast-dctcp": lambda: blocks(record, "incast", by_senders, "dctcp", goodputs),
        "waits-dctcp": lambda: blocks(record, "incast", by_senders, "dctcp", waits),
        "incast-reno": lambda: blocks(record, "incast", by_senders, "reno", goodputs),
        "waits-reno": lambda: blocks(record, "incast", by_senders, "reno", waits),
        "song": lambda: blocks(record, "song", by_buffer, "reno", goodputs),
        "waits-song": lambda: blocks(record, "song", by_buffer, "reno", waits),
        **numbers(record),
    }

    def replace(found: re.Match[str]) -> str:
        what, *words = found[1].split()
        if what not in texts:
            raise ValueError(f"{TEMPLATE.name}: nothing is called {found[0]}")
        return texts[what](*words)

    return re.sub(r"\{\{([^}]*)\}\}", replace, TEMPLATE.read_text(encoding="utf-8"))
