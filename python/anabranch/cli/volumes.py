"""The commands ``anabranch traffic fit``, ``dimension`` and ``bill``: verdicts, capacities and charges."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.base import moments, units
from anabranch.cli.common import errors, stderr, stdout
from anabranch.cli.volume_files import Files, Json, Link, Reader, Reading, reads, widest
from anabranch.errors import AnabranchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.traffic.bill import Port
    from anabranch.traffic.dimension import Dimensioning
    from anabranch.traffic.forecast import Forecast
    from anabranch.traffic.outcome import Inconclusive
    from anabranch.traffic.series import Volumes
    from anabranch.traffic.sweep import Sweep

# The statistics pull in Polars and SciPy, which `anabranch --help` can do without: they are imported where they are
# used.


class DirectionName(StrEnum):
    """`anabranch.traffic.bill.Direction` for the command line."""

    larger = "max"
    interval_max = "interval-max"
    total = "sum"
    separate = "separate"
    inbound = "in"
    outbound = "out"


class MethodName(StrEnum):
    """`anabranch.traffic.bill.Method` for the command line."""

    nearest_rank = "nearest-rank"
    linear = "linear"


def register(app: typer.Typer) -> None:
    """Add the commands to a group."""
    app.command(name="fit", short_help="Fit distributions to volumes.")(fit_command)
    app.command(name="dimension", short_help="Compute the capacity that a link needs.")(dimension_command)
    app.command(name="bill", short_help="Compute bills by the 95th percentile, month by month.")(bill_command)


@reads
def fit_command(
    files: Files,
    *,
    widths: Annotated[
        str | None,
        typer.Option(
            "--bin",
            help="Bin widths, with commas between.",
            metavar="TIMES",
            show_default="5ms,100ms,1s,5s, or the file's",
        ),
    ] = None,
    link: Link = None,
    capacity: Annotated[
        str | None, typer.Option(help="Capacity of the link, to find saturation.", metavar="RATE")
    ] = None,
    bootstrap: Annotated[
        int, typer.Option(min=0, help="Synthetic samples for the power law's p-value and intervals; 1000 are usual.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the synthetic samples.")] = 1,
    as_json: Json = False,
    reading: Reading,
) -> None:
    """Fit distributions to volumes, at every bin width that the file allows."""
    with errors():
        from anabranch.cli import volumes_tables as tables  # noqa: PLC0415
        from anabranch.traffic import quantities, sweep  # noqa: PLC0415

        chosen = sweep.WIDTHS if widths is None else quantities.widths(widths)
        full = None if capacity is None else quantities.bps(capacity, "--capacity")
        sweeps = []
        for traces in Reader(reading, link).traces(files, chosen, exact=None if widths is None else chosen):
            made = sweep.sweep(traces, widths=chosen, capacity_bps=full)
            if not made.verdicts:
                reasons = "; ".join(f"at {units.time(width * 1e9)} {reason}" for width, reason in made.skipped)
                stderr().print(f"{made.name}: no verdict: {reasons}", markup=False)
            more = [_bootstrapped(_at(traces, v.bin_s), bootstrap, seed) for v in made.verdicts] if bootstrap else []
            sweeps.append((made, more))
        if not any(made.verdicts for made, _ in sweeps):
            raise AnabranchError(
                f"nothing to fit: no series has {sweep.BINS_MIN} bins at any width",
                hint="measure longer, or choose finer bins: --bin 5ms",
            )
        if as_json:
            _echo([_sweep_json(made, more) for made, more in sweeps])
        else:
            for made, more in sweeps:
                if made.verdicts:
                    stdout().print(tables.sweep(made, more, asked=widths is not None))


@reads
def dimension_command(
    files: Files,
    *,
    epsilon: Annotated[float, typer.Option(help="Share of bins that may exceed the capacity.", metavar="SHARE")] = 0.01,
    widths: Annotated[
        str | None,
        typer.Option("--bin", help="Bin widths T, with commas between.", metavar="TIMES", show_default="the file's"),
    ] = None,
    held_out: Annotated[
        float,
        typer.Option(
            help="Share of the series, at its end, to check on; the fit does not see it.",
            metavar="SHARE",
            show_default="a third",
        ),
    ] = 1 / 3,
    link: Link = None,
    as_json: Json = False,
    reading: Reading,
) -> None:
    """Compute the capacity that a link needs, by model, and how often it is exceeded."""
    with errors():
        from anabranch.cli import volumes_tables as tables  # noqa: PLC0415
        from anabranch.traffic import dimension, quantities  # noqa: PLC0415

        results: list[tuple[Volumes, Dimensioning]] = []
        wanted = () if widths is None else quantities.widths(widths)
        for traces in Reader(reading, link).traces(files, exact=wanted):
            for width in wanted or [one.bin_s for one in traces]:
                one = _at(traces, width)
                _enough(one)
                results.append((one, dimension.dimension(one, epsilon=epsilon, held_out=held_out)))
        if as_json:
            _echo([{"name": one.name, "source": one.source, **found.as_json()} for one, found in results])
        else:
            for one, found in results:
                stdout().print(tables.dimension(one, found))


@reads
def bill_command(
    files: Files,
    *,
    outbound: Annotated[
        list[Path] | None,
        typer.Option(
            "--out", help="Outbound volumes of the port of the same place in FILE...; repeat it.", metavar="FILE"
        ),
    ] = None,
    commit: Annotated[str | None, typer.Option(help="Committed rate.", metavar="RATE", show_default="none")] = None,
    price: Annotated[float, typer.Option(min=0, help="Price for each Mbit/s of the commit, a month.")] = 0.0,
    overage: Annotated[
        float | None, typer.Option(min=0, help="Price for each Mbit/s above it.", show_default="--price")
    ] = None,
    direction: Annotated[
        DirectionName, typer.Option(help="How the two directions make one bill.")
    ] = DirectionName.larger,
    percentile: Annotated[float, typer.Option(help="Percentile that is billed.")] = 95.0,
    method: Annotated[MethodName, typer.Option(help="Definition of the percentile.")] = MethodName.nearest_rank,
    every: Annotated[str, typer.Option(help="Width of a billing interval.", metavar="TIME")] = "5min",
    forecast_days: Annotated[
        int | None,
        typer.Option(min=1, help="Forecast the month from so many of its first days.", show_default="no forecast"),
    ] = None,
    month_days: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=366,
            help="Days of the month that is forecast, and of the months of a trace without dates.",
            show_default="the month's, or 30",
        ),
    ] = None,
    month: Annotated[
        str | None,
        typer.Option(help="Bill a calendar month of --time-zone only.", metavar="YYYY-MM", show_default="every month"),
    ] = None,
    audit: Annotated[bool, typer.Option("--audit", help="List every discarded sample.")] = False,
    link: Link = None,
    as_json: Json = False,
    reading: Reading,
) -> None:
    """Compute bills by the 95th percentile, one for each month: ports are summed per interval, lost polls are not zero.

    A file is a port. If it has two series, named in and out (or rx and tx, received and sent), they are its directions.
    """
    with errors():
        from anabranch.cli import volumes_tables as tables  # noqa: PLC0415
        from anabranch.traffic import bill as billing  # noqa: PLC0415
        from anabranch.traffic import forecast, months, quantities  # noqa: PLC0415
        from anabranch.traffic.stationarity import DAY_NS  # noqa: PLC0415

        zone = moments.zone(reading.time_zone)
        interval_ns = quantities.nanoseconds(every, "--every")
        commit_bps = 0.0 if commit is None else quantities.bps(commit, "--commit")
        tariff = billing.Tariff(commit_bps, price, overage)
        ports = _ports(files, outbound or [], Reader(reading, link), interval_ns)
        days = month_days or 30
        if month is not None:
            begin, end = billing.calendar_month(month, zone)
            ports = [_in_month(port, begin, end) for port in ports]
            days = month_days or (end - begin) // DAY_NS
        made = months.bills(
            ports,
            tariff=tariff,
            direction=direction.value,
            percentile=percentile,
            method=method.value,
            interval_ns=interval_ns,
            month_days=month_days,
            zone=zone,
        )
        bills = [one.bill for one in made if isinstance(one.bill, billing.Bill)]
        forecasts: dict[str, list[Forecast | Inconclusive]] = {}
        if forecast_days is not None:
            dated = made[0].begin_ns >= months.DATED_NS
            if dated and len(made) > 1:
                raise AnabranchError(
                    f"--forecast-days {forecast_days}: {len(made)} months are there: expected one",
                    hint=f"say which to forecast: --month {made[-1].name}",
                )
            days = month_days or (round(made[0].days) if dated else days)
            for name, one in billing.billed(ports, bills[0].direction, interval_ns):
                forecasts[name] = forecast.forecast(
                    one, tariff, days=forecast_days, month_days=days, percentile=percentile
                )
        if as_json:
            shown = {name: [_outcome(f) for f in many] for name, many in forecasts.items()}
            one_month = made[0].as_json() if len(made) == 1 else None
            several = {"months": [each.as_json() for each in made], "charge": sum(one.charge for one in bills)}
            _echo((one_month or several) | ({"forecast": shown, "forecast_days": forecast_days} if forecasts else {}))
        else:
            stdout().print(tables.bills(made, audit=audit, zone=zone))
            missing = sum(max(one.missing for one in found.percentiles) for found in bills)
            if missing:
                stderr().print(
                    f"note: {missing} intervals have no rate on some port: they are no samples", markup=False
                )
            if forecast_days is not None and forecast_days < forecast.WEEK:
                what = f"{days} days are forecast from {forecast_days}"
                stderr().print(f"note: {what}: weekends, or working days, may be missing", markup=False)
            for name, many in forecasts.items():
                stdout().print(tables.forecast(name, many, days=forecast_days or 0, month_days=days))


def _enough(volumes: Volumes) -> None:
    """Refuse a series of which no statistic says anything."""
    from anabranch.traffic.sweep import BINS_MIN  # noqa: PLC0415

    known = int(volumes.is_known.sum())
    if known < BINS_MIN:
        raise AnabranchError(
            f"{volumes.source or volumes.name}: {known} bins of {units.time(volumes.bin_ns)} are known: "
            f"at least {BINS_MIN} are needed",
            hint="measure longer, or choose finer bins: --bin 100ms",
        )


def _echo(value: object) -> None:
    typer.echo(json.dumps(value, indent=2, allow_nan=False))


def _outcome(value: Forecast | Inconclusive) -> dict[str, Any]:
    from anabranch.traffic.outcome import Inconclusive  # noqa: PLC0415

    return {"inconclusive": value.reason} if isinstance(value, Inconclusive) else value.as_json()


def _at(traces: Sequence[Volumes], width: float) -> Volumes:
    """A trace at a width."""
    from anabranch.traffic.series import SECOND  # noqa: PLC0415

    return widest(traces, round(width * SECOND)).at(width)


IN_OUT = (
    {"in", "rx", "received", "receive", "recv", "inbound", "ingress", "input", "download"},
    {"out", "tx", "sent", "transmit", "transmitted", "outbound", "egress", "output", "upload"},
)
"""Words by which the names of series tell a direction."""

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""A word of a name: ``ifHCInOctets`` has four, as the reader of tables sees them."""

ENDINGS = ("octets", "bytes", "bits", "bps")
"""What may follow a direction without a border: ``INOCTETS``, ``rxbytes``."""


def _direction(name: str) -> int | None:
    words = {word.lower() for word in WORD.findall(name)}
    words |= {word.removesuffix(ending) for word in words for ending in ENDINGS}
    return next((place for place, known in enumerate(IN_OUT) if words & known), None)


def _ports(files: Sequence[Path], outbound: Sequence[Path], reader: Reader, interval_ns: int) -> list[Port]:
    from anabranch.traffic.bill import Port  # noqa: PLC0415
    from anabranch.traffic.series import SECOND  # noqa: PLC0415

    if outbound and len(outbound) != len(files):
        raise AnabranchError(
            f"{len(files)} inbound files and {len(outbound)} outbound: expected as many", hint="one --out for each FILE"
        )

    def series(file: Path) -> list[Volumes]:
        width = interval_ns / SECOND
        return [widest(trace, interval_ns) for trace in reader.traces([file], [width])]

    ports = []
    for place, file in enumerate(files):
        found = series(file)
        if outbound:
            ports.append(Port(_only(found, file), _only(series(outbound[place]), file)))
            continue
        # The name of the file says nothing: it may be that of an inbound port.
        ways = [_direction(one.name.removeprefix(file.name)) for one in found]
        if sorted(way for way in ways if way is not None) == [0, 1] and len(found) == 2:  # noqa: PLR2004 - in and out
            ports.append(Port(found[ways.index(0)], found[ways.index(1)]))
        else:
            ports.append(Port(_only(found, file)))
    return ports


def _in_month(port: Port, begin_ns: int, end_ns: int) -> Port:
    from anabranch.traffic.bill import Port  # noqa: PLC0415

    outbound = None if port.outbound is None else _cut(port.outbound, begin_ns, end_ns)
    return Port(_cut(port.inbound, begin_ns, end_ns), outbound)


def _cut(volumes: Volumes, begin_ns: int, end_ns: int) -> Volumes:
    part = volumes.between(begin_ns, end_ns)
    if not len(part):
        raise AnabranchError(f"{volumes.source or volumes.name}: nothing in that month")
    return part


def _only(found: Sequence[Volumes], file: Path) -> Volumes:
    if len(found) != 1:
        names = ", ".join(repr(one.name) for one in found)
        raise AnabranchError(
            f"{file}: {len(found)} series ({names}): which is the port?",
            hint="choose one: --row interface=eth0, --column in_octets; or two that are named in and out",
        )
    return found[0]


def _bootstrapped(volumes: Volumes, replicates: int, seed: int) -> dict[str, Any]:
    """The power law's p-value and intervals under each rule."""
    from anabranch.traffic import tails  # noqa: PLC0415
    from anabranch.traffic.outcome import Inconclusive  # noqa: PLC0415

    shown: dict[str, Any] = {}
    for rule in tails.RULES:
        good = tails.goodness(volumes, rule, replicates=replicates, seed=seed)
        spread = tails.uncertainty(volumes, rule, replicates=replicates, seed=seed)
        if isinstance(good, Inconclusive) or isinstance(spread, Inconclusive):
            reason = good if isinstance(good, Inconclusive) else spread
            shown[rule] = {"inconclusive": str(reason)}
            continue
        shown[rule] = {
            "p": good.p,
            "p_error": good.standard_error,
            "replicates": good.replicates,
            "alpha": spread.interval("alpha"),
            "x_min": spread.interval("x_min"),
            "n_tail": spread.interval("n_tail"),
        }
    return shown


def _sweep_json(made: Sweep, more: Sequence[dict[str, Any]]) -> dict[str, Any]:
    value = made.as_json()
    for width, extra in zip(value["widths"], more, strict=False):
        width["bootstrap"] = extra
    return value
