"""The page of the comparison, made from a record of runs."""

import json
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from worlds_case import CONDITIONS, HERE, METRICS, SOURCE_SYMBOLS, TRANSFERS, Runs

TOLERANCE = 0.15
"""Ratios further from 1 are explained, or said to be unexplained."""

SLOW_LINKS = "links of 10 Mbit/s, 400 kB"
LONGER = "links of 10 Mbit/s, 1.2 MB"
LONG_QUEUE = "queues of 300 kB"
LATE = "one receiver starts late"

SLOW = 1.3
"""A run that takes so many times the median of its case is told apart."""

NAMES = {
    "symbols": "symbols sent",
    "pulls": "pull datagrams",
    "uplink_bytes": "bytes on the uplink",
    "seconds": "completion time",
}


@dataclass(frozen=True)
class Record:
    """All runs, and what the real ones ran on."""

    machine: str
    runs: tuple[Runs, ...]

    def of(self, transfer: str, condition: str, world: str, changed: str = "") -> Runs:
        """One case."""
        key = (transfer, condition, world, changed)
        return next(one for one in self.runs if (one.transfer, one.condition, one.world, one.changed) == key)

    def ratio(self, transfer: str, condition: str, metric: str, changed: str = "") -> float:
        """Real over simulated, of the medians."""
        real, simulated = (self.of(transfer, condition, world, changed) for world in ("real", "simulated"))
        return real.median(metric) / simulated.median(metric)

    def as_json(self) -> str:
        """For a file, with the runs of a case on one line."""
        runs = ",\n".join(json.dumps(one.as_json()) for one in self.runs)
        return f'{{"machine": {json.dumps(self.machine)}, "runs": [\n{runs}\n]}}\n'

    @staticmethod
    def of_json(text: str) -> "Record":
        """What `as_json` wrote."""
        data = json.loads(text)
        return Record(data["machine"], tuple(Runs.of_json(one) for one in data["runs"]))


@dataclass(frozen=True)
class Difference:
    """A ratio beyond the tolerance."""

    transfer: str
    condition: str
    metric: str
    ratio: float
    why: str | None

    def text(self) -> str:
        """For a list."""
        return f"{NAMES[self.metric]} of {self.transfer}, {self.condition}: {self.ratio:.2f}"


def differences(record: Record) -> list[Difference]:
    """All ratios beyond the tolerance, with their causes."""
    known = _explained()["difference"]
    found = []
    for transfer, condition, metric in _cells():
        ratio = record.ratio(transfer, condition, metric)
        if abs(ratio - 1) > TOLERANCE:
            causes = (
                one["why"]
                for one in known
                if transfer in one["transfers"] and condition in one["conditions"] and metric in one["metrics"]
            )
            found.append(Difference(transfer, condition, metric, ratio, next(causes, None)))
    return found


def _explained() -> dict[str, Any]:
    with (HERE / "explained.toml").open("rb") as file:
        return tomllib.load(file)


def _cells() -> Iterator[tuple[str, str, str]]:
    for transfer in TRANSFERS:
        for condition in CONDITIONS:
            for metric in METRICS:
                yield transfer.name, condition, metric


def tables(record: Record) -> str:
    """All ratios."""
    return "\n".join(_table(record, CONDITIONS))


def _table(record: Record, conditions: Sequence[str]) -> list[str]:
    columns = ["transfer", "on the way", "overhead, real", "overhead, simulated", *NAMES.values()]
    lines = [f"| {' | '.join(columns)} |", "|---|---|---:|---:|---:|---:|---:|---:|"]
    for transfer in TRANSFERS:
        for condition in conditions:
            cells = [transfer.name, condition]
            for world in ("real", "simulated"):
                overhead = record.of(transfer.name, condition, world).median("symbols") / SOURCE_SYMBOLS - 1
                cells.append(f"{100 * overhead:.1f} %")
            cells += [_ratio(record, transfer.name, condition, metric) for metric in METRICS]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _ratio(record: Record, transfer: str, condition: str, metric: str) -> str:
    simulated = record.of(transfer, condition, "simulated").median(metric)
    real = [getattr(run, metric) / simulated for run in record.of(transfer, condition, "real").runs]
    return f"{record.ratio(transfer, condition, metric):.2f} ({min(real):.2f} to {max(real):.2f})"


def _span(ratios: Sequence[float]) -> str:
    return f"{min(ratios):.2f} to {max(ratios):.2f}"


def _numbers(record: Record) -> dict[str, str]:
    """What the texts of the causes say, but for copies."""

    def pulls(transfer: str, world: str, changed: str) -> float:
        return record.of(transfer, "no loss", world, changed).median("pulls")

    def growth(transfer: str) -> str:
        """Pull datagrams of the first 400 kB and of what follows."""
        first = [pulls(transfer, world, SLOW_LINKS) for world in ("real", "simulated")]
        rest = [pulls(transfer, world, LONGER) - pulls(transfer, world, SLOW_LINKS) for world in ("real", "simulated")]
        return f"{first[0] / first[1]:.2f} and then {rest[0] / rest[1]:.2f}"

    long = {
        metric: [
            record.ratio(one.name, c, metric, LONG_QUEUE) for one in TRANSFERS for c in ("trimming", "short queue")
        ]
        for metric in ("symbols", "seconds")
    }
    return {
        "growth_unicast": growth("one to one"),
        "growth_group": growth("one to three"),
        "symbols_long": _span(long["symbols"]),
        "seconds_long": _span(long["seconds"]),
    }


def _copies(record: Record) -> dict[str, float]:
    """What the text about copies says."""
    late = record.of("one to three", "no loss", "real", LATE)
    return {
        "copies_late": sum(run.copies > 0 for run in late.runs),
        "runs_late": len(late.runs),
        "bytes_late": late.median("uplink_bytes") / record.of("one to three", "no loss", "real").median("uplink_bytes"),
    }


def _outliers(record: Record) -> str:
    """Runs that took far longer than others of their case."""
    compared = [one for one in record.runs if one.world == "real" and not one.changed]
    slow = [run for one in compared for run in one.runs if run.seconds > SLOW * one.median("seconds")]
    every = sum(len(one.runs) for one in compared)
    copied = sum(run.copies > 0 for one in compared for run in one.runs)
    text = _explained()["outliers"]["text"]
    return str(
        text.format(
            every=every,
            slow=len(slow),
            limit=SLOW,
            copied=copied,
            rest=sum(run.copies == 0 for run in slow),
            **_copies(record),
        )
    )


def _overheads(record: Record) -> str:
    """Encoding symbols beyond source symbols and losses: too few for the ratios of symbols to show it."""
    parts, unknown = [], []
    for one in TRANSFERS:
        real, simulated = (
            median(run.symbols - SOURCE_SYMBOLS - run.lost for run in record.of(one.name, "1 % loss", world).runs)
            for world in ("real", "simulated")
        )
        parts.append(f"{one.name}, {real:.0f} and {simulated:.0f}")
        if abs(real / simulated - 1) > TOLERANCE:
            unknown.append(one.name)
    text = str(_explained()["overheads"]["text"]).format(each="; ".join(parts))
    return f"{text} Unexplained: {', '.join(unknown) or 'none'}."


def _differences(record: Record) -> list[str]:
    found = differences(record)
    numbers = _numbers(record)
    lines = []
    for cause, about in _explained()["cause"].items():
        mine = [one for one in found if one.why == cause]
        if mine:
            lines.append(f"- **{cause.capitalize()}** ({_listed(mine)}). {about['text'].format(**numbers)}")
    unknown = [one for one in found if one.why is None]
    if unknown:
        lines.append(f"- **Unexplained** ({'; '.join(one.text() for one in unknown)}).")
    return [*lines, f"- {_overheads(record)}", f"- {_outliers(record)}"]


def _listed(found: Sequence[Difference]) -> str:
    """Metrics with the ranges of their ratios."""
    parts = []
    for metric in METRICS:
        ratios = [one.ratio for one in found if one.metric == metric]
        if ratios:
            parts.append(f"{NAMES[metric]}: {_span(ratios) if len(ratios) > 1 else f'{ratios[0]:.2f}'}")
    return "; ".join(parts)


def page(record: Record) -> str:
    """All of `docs/fidelity/wire.md`, from its template."""
    ratios = [record.ratio(*cell) for cell in _cells()]
    found = differences(record)
    at_random = [record.ratio(one.name, c, "symbols") for one in TRANSFERS for c in ("no loss", "1 % loss")]
    trimmed, short = (
        [record.ratio(one.name, condition, "symbols") for one in TRANSFERS] for condition in ("trimming", "short queue")
    )
    lost = {
        (one, world): record.of(one.name, "1 % loss", world).median("lost")
        for one in TRANSFERS
        for world in ("real", "simulated")
    }
    return (
        (HERE / "wire.template.md")
        .read_text(encoding="utf-8")
        .format(
            least_symbols=min(at_random),
            most_symbols=max(at_random),
            least_trimmed=min(trimmed),
            most_trimmed=max(trimmed),
            short_queue_symbols=max(short),
            ratios=len(ratios),
            within=len(ratios) - len(found),
            explained=sum(one.why is not None for one in found),
            unknown=sum(one.why is None for one in found),
            tolerance=f"{100 * TOLERANCE:.0f}",
            table="\n".join(_table(record, CONDITIONS[:3])),
            without="\n".join(_table(record, CONDITIONS[3:])),
            differences="\n".join(_differences(record)),
            lost="; ".join(
                f"{one.name}, {lost[one, 'real']:.0f} real and {lost[one, 'simulated']:.0f} simulated"
                for one in TRANSFERS
            ),
            machine=record.machine,
        )
    )
