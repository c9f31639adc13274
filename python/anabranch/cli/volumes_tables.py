"""What ``anabranch traffic fit``, ``dimension`` and ``bill`` show in a terminal."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from anabranch.base import units
from anabranch.showing.layout import narrowing
from anabranch.traffic.dimension import LABELS, Capacity
from anabranch.traffic.fit import Vuong
from anabranch.traffic.forecast import WEEK
from anabranch.traffic.outcome import Inconclusive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import RenderableType

    from anabranch.traffic.bill import Bill, Percentile
    from anabranch.traffic.dimension import Dimensioning
    from anabranch.traffic.forecast import Forecast
    from anabranch.traffic.months import Month
    from anabranch.traffic.series import Volumes
    from anabranch.traffic.sweep import Sweep, Verdict

AUDIT = 10
"""Discarded samples that are shown unless all are asked for."""


def _table(title: str, columns: Sequence[str], *, left: int = 1) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place < left else "right", no_wrap=True)
    return table


def _number(value: float, places: int = 2) -> str:
    return f"{value:+.{places}f}" if abs(value) < 1e4 else f"{value:+.1e}"  # noqa: PLR2004 - wider says no more


def _p(p: float) -> str:
    return "< 1e-16" if p < 1e-16 else f"{p:.2g}"  # noqa: PLR2004 - beyond what floats can tell from 0


def sweep(made: Sweep, more: Sequence[dict[str, Any]], *, asked: bool) -> RenderableType:
    """Tables of a trace over its bin widths."""
    parts: list[RenderableType] = []
    for place, one in enumerate(made.verdicts):
        parts += _show_verdict(made.name, one, more[place] if more else {})
    if len(made.verdicts) > 1:
        found = [(name, made.variation(name)) for name in ("lognormal", "normal")]
        text = ", ".join(f"{name} {v.reason if isinstance(v, Inconclusive) else f'{v:.3f}'}" for name, v in found)
        parts.append(Text(f"variation of gamma over the widths (eq. 2): {text}"))
    if asked:
        parts += [Text(f"not at {units.time(w * 1e9)}: {reason}") for w, reason in made.skipped]
    parts.append(
        Text(
            "z > 0: the best model is more likely than this one, p is of that test (bins taken to be independent; in "
            "brackets with what they repeat discounted). R < 0: the alternative is more likely than the power law.",
            style="dim",
        )
    )
    return Group(*parts)


def _show_verdict(name: str, one: Verdict, more: dict[str, Any]) -> list[RenderableType]:
    study = one.study
    head = f"{name}, T = {units.time(one.bin_s * 1e9)}: {study.verdict}"
    parts: list[RenderableType] = []
    table = _table(head, ("model", "delta AIC", "KS", "gamma", "z", "p", "(p)"))
    for found in study.fitted:
        test = study.compare(study.best or "", found.model.name)
        tests = (
            (_number(test.z, 1), _p(test.p), f"({_p(test.p_dependent)})") if isinstance(test, Vuong) else ("", "", "")
        )
        delta = found.aic - study.fitted[0].aic
        table.add_row(found.model.label, units.count(delta), f"{found.ks:.3f}", f"{found.gamma:.3f}", *tests)
    for model, reason in study.fits.items():
        if isinstance(reason, Inconclusive):
            table.add_row(model, reason.reason)
    parts.append(narrowing(table))
    tail_table = _table(
        "", ("power law", "alpha", "x_min", "n_tail", "KS", "R log-normal", "R Weibull", "R exponential")
    )
    for rule, tail in one.tails.items():
        if isinstance(tail, Inconclusive):
            tail_table.add_row(f"{rule}: {tail.reason}")
            continue
        against = []
        for alternative in ("lognormal", "weibull", "exponential"):
            result = tail.against[alternative]
            against.append("same" if isinstance(result, Inconclusive) else f"{_number(result.r)} (p {_p(result.p)})")
        label = "x_min fitted" if rule == "fitted" else "whole sample"
        tail_table.add_row(
            label,
            f"{tail.alpha:.2f} ± {tail.sigma:.2f}",
            units.rate(tail.x_min),
            f"{tail.n_tail} of {tail.n}",
            f"{tail.distance:.3f}",
            *against,
        )
    parts.append(narrowing(tail_table))
    parts += [Text(line) for line in _lines(one, more)]
    return parts


def _lines(one: Verdict, more: dict[str, Any]) -> list[str]:
    """What a verdict says below its tables."""
    study = one.study
    empty = f"empty {study.zeros} ({study.zeros / max(1, study.n):.1%}, a mass of their own in every model)"
    spread = f"mean {units.rate(study.mean_bps)}, coefficient of variation {study.cov:.2f}"
    lines = [f"bins {study.n}, {empty}, missing {one.missing}; {spread}"]
    for rule, extra in more.items():
        if "inconclusive" in extra:
            lines.append(f"power law, x_min {rule}: {extra['inconclusive']}")
            continue
        (low, high), (x_low, x_high) = extra["alpha"], extra["x_min"]
        p = f"p {extra['p']:.3f} ± {extra['p_error']:.3f}"
        spread = f"alpha {low:.2f} to {high:.2f}, x_min {units.rate(x_low)} to {units.rate(x_high)}"
        lines.append(f"power law, x_min {rule}: {p}, {spread} (95 %, {extra['replicates']} synthetic samples)")
    if isinstance(one.stationarity, Inconclusive):
        lines.append(f"stationarity: {one.stationarity}")
    else:
        tests = one.stationarity
        beyond = " or beyond" if tests.kpss.bounded else ""
        joined = f" of {tests.joined} bins each" if tests.joined > 1 else ""
        season = f"; daily cycle (correlation {tests.daily:.2f})" if tests.seasonal else ""
        lines.append(
            f"{tests.reading}: ADF p {_p(tests.adf.p)} ({tests.adf.lags} lags), KPSS p {_p(tests.kpss.p)}{beyond} "
            f"({tests.kpss.lags} lags{joined}): {tests.meaning}{season}"
        )
    if one.multimodal:
        lines.append(one.multimodal)
    lines += [f"{anomaly.kind}: {anomaly.explanation}" for anomaly in one.anomalies]
    return lines


def dimension(one: Volumes, found: Dimensioning) -> RenderableType:
    """Capacities by method, and what they are worth."""
    title = f"{one.name}: capacity that at most {found.epsilon:g} of the bins of {units.time(found.bin_s * 1e9)} exceed"
    table = _table(title, ("method", "capacity", "exceeded, fitted part", f"held-out ({found.held_out} bins)", ""))
    for capacity in found.capacities:
        if not isinstance(capacity, Capacity):
            table.add_row(capacity.reason)
            continue
        table.add_row(LABELS[capacity.method], units.rate(capacity.bps), *_shares(capacity), capacity.warning)
    for name, rate in found.rules:
        table.add_row(name, units.rate(rate))
    legend = (
        "exceeded: share of bins above the capacity (epsilon-hat, eq. 7) and its 95 % interval (Clopper-Pearson, "
        "bursts counted once). Trust the held-out part."
    )
    return Group(narrowing(table), Text(legend, style="dim"))


def _shares(capacity: Capacity) -> tuple[str, str]:
    parts = (capacity.in_sample, capacity.held_out)
    first, later = ("" if e is None else f"{e.share:.4f} ({e.low:.4f} to {e.high:.4f})" for e in parts)
    return first, later


def _when(start_ns: int, zone: dt.tzinfo) -> str:
    """A time of the real world as such, and one of a trace in seconds."""
    if start_ns < 10**17:  # before 1973: no time of the real world
        return f"{start_ns / 1e9:.0f} s"
    return f"{dt.datetime.fromtimestamp(start_ns / 1e9, tz=zone):%Y-%m-%d %H:%M}"


def bills(months: Sequence[Month], *, audit: bool, zone: dt.tzinfo = dt.UTC) -> RenderableType:
    """The bill of every month, and what they come to together."""
    parts: list[RenderableType] = []
    for month in months:
        if isinstance(month.bill, Inconclusive):
            parts.append(Text(f"{month.name}: not billed: {month.bill.reason}"))
            continue
        about = "" if month.whole else f"partial month: {month.measured_days:.1f} of {month.days:g} days"
        parts.append(_bill(month.bill, audit=audit, about=about, zone=zone))
    charged = [month.bill for month in months if not isinstance(month.bill, Inconclusive)]
    if len(months) > 1 and any(one.tariff.price or one.tariff.overage for one in charged):
        total = sum(one.charge for one in charged)
        parts.append(Text(f"charge of {len(charged)} months: {total:.2f}"))
    return Group(*parts)


def _bill(found: Bill, *, audit: bool, about: str, zone: dt.tzinfo) -> RenderableType:
    """The bill of a month, and the samples it discards."""
    span = f"{_when(found.first_ns, zone)} to {_when(found.last_ns, zone)}"
    where = "" if zone is dt.UTC else f" {zone}"
    title = f"{span}{where}, {found.ports} port{'s' if found.ports > 1 else ''}"
    columns = (f"{found.percentile:g}th percentile", "rate", "rank", "samples", "discarded", "missing")
    table = _table(title, columns)
    for one in found.percentiles:
        counts = (f"{one.rank}", f"{one.samples}", f"{len(one.discarded)}", f"{one.missing}")
        table.add_row(one.name, units.rate(one.bps, 6), *counts)
    commit = found.tariff.commit_bps
    lines = [about] if about else []
    lines += [f"billed: {units.rate(found.billed_bps, 6)} ({found.direction}, {found.method})"]
    if commit:
        above = found.billed_bps - commit
        lines.append(
            f"commit: {units.rate(commit, 6)}; {units.rate(abs(above), 4)} {'above' if above > 0 else 'below'} it"
        )
    if found.tariff.price or found.tariff.overage:
        lines.append(f"charge: {found.charge:.2f}")
    parts: list[RenderableType] = [narrowing(table), *(Text(line) for line in lines)]
    parts += [_show_audit(one, everything=audit, zone=zone) for one in found.percentiles if one.discarded]
    return Group(*parts)


def _show_audit(one: Percentile, *, everything: bool, zone: dt.tzinfo) -> RenderableType:
    shown = list(one.discarded)
    if not everything:
        shown = sorted(sorted(shown, key=lambda s: -s.bps)[:AUDIT], key=lambda s: s.start_ns)
    what = (
        "discarded" if len(shown) == len(one.discarded) else f"largest {len(shown)} of {len(one.discarded)} discarded"
    )
    table = _table(f"{one.name}: {what}", ("interval", "rate"))
    for sample in shown:
        table.add_row(_when(sample.start_ns, zone), units.rate(sample.bps, 6))
    return narrowing(table)


def forecast(name: str, many: Sequence[Forecast | Inconclusive], *, days: int, month_days: int) -> RenderableType:
    """Forecasts by method."""
    table = _table(
        f"{name}: {month_days} days from the first {days}", ("method", "rate", "95 % interval", "charge", "", "")
    )
    for one in many:
        if isinstance(one, Inconclusive):
            table.add_row(one.reason)
            continue
        if isinstance(one.interval, Inconclusive) or isinstance(one.charge_interval, Inconclusive):
            table.add_row(one.method, units.rate(one.bps, 4), "", f"{one.charge:.2f}", "", str(one.interval))
            continue
        rates = " to ".join(units.rate(end, 4) for end in one.interval)
        charges = " to ".join(f"{end:.2f}" for end in one.charge_interval)
        table.add_row(one.method, units.rate(one.bps, 4), rates, f"{one.charge:.2f}", charges, one.warning)
    legend = (
        "The interval is of the month, by the model's errors in months made of the days that were seen: a forecast "
        "outside its own interval is of a model that does not suit these rates."
    )
    if days < WEEK:
        legend += " Less than a week was seen: weekends, or working days, may be missing."
    return Group(narrowing(table), Text(legend, style="dim"))
