"""What traces say, a sentence each: of one trace what a planner asks, of several what they have in common."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from anabranch.base import units
from anabranch.errors import AnabranchError
from anabranch.traffic.bill import INTERVAL_NS, intervals, quantile
from anabranch.traffic.cycle import DAYS, HOUR_NS, daily_cycle
from anabranch.traffic.fit import KS_WARN
from anabranch.traffic.report.frames import label
from anabranch.traffic.report.single import DATED_NS
from anabranch.traffic.report.study import PERCENTILE, width
from anabranch.traffic.stationarity import DAY_NS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.traffic.report.study import Promise, Trace

EPSILON = 0.01
"""Share of bins that may exceed the capacity that is told, if none is given."""

FEWEST = 20
"""Billing intervals of which a 95th percentile leaves one out."""

FAR = 3.0
"""Times more, or fewer, that is worth a word."""

EXPECTED = 5.0
"""Bins above a capacity that must be expected before their absence says anything."""

ENOUGH = 0.9
"""Share of a capacity below which the measured quantile says that less would do."""

WEAK = 1.5
"""Peak hour over trough hour below which a cycle is weak."""


def findings(traces: Sequence[Trace], epsilon: float = EPSILON) -> list[str]:
    """What the traces say, a sentence each.

    Parameters
    ----------
    traces
        Of `anabranch.traffic.report.study`.
    epsilon
        Share of bins that exceed the capacity that is told of a single trace.
    """
    return _of_one(traces[0], epsilon) if len(traces) == 1 else _of_several(traces)


def _of_one(trace: Trace, epsilon: float) -> list[str]:
    found = [_capacity(trace, epsilon), _bill(trace), _cycle(trace)]
    for verdict in trace.sweep.verdicts:
        text = f"Distribution at T = {width(verdict.bin_s)}: {verdict.study.verdict}"
        if verdict.study.fitted and verdict.study.fitted[0].ks <= KS_WARN:
            text += f" (KS {verdict.study.fitted[0].ks:.3f})"
        if verdict.multimodal:
            text += f". {verdict.multimodal[0].upper()}{verdict.multimodal[1:]}"
        found.append(f"{text}.")
    found += [f"{a.kind} at T = {width(v.bin_s)}: {a.explanation}." for v in trace.sweep.verdicts for a in v.anomalies]
    return [text for text in found if text]


def _capacity(trace: Trace, epsilon: float) -> str:
    """The capacity by the model that fits best, if it gives one; else by the log-normal, or by Meent's formula."""
    best = trace.main.study.best
    methods = dict.fromkeys([*([best] if best else []), "lognormal", "meent"])
    made = (trace.promise(method, epsilon, trace.main.bin_s) for method in methods)
    promise = next((one for one in made if one is not None), None)
    if promise is None:
        return ""
    rates = trace.main_volumes.rates()
    measured = quantile(rates, 100 * (1 - epsilon))[0]
    best = trace.main.study.best
    model = label(promise.method)
    if best not in {None, promise.method}:
        model += ", which is not the best model"
    unseen = "" if promise.held_out is None else f", of the last third {promise.held_out:.1%} of a fit to the others"
    return (
        f"Capacity that {epsilon:.2%} of the bins of {width(trace.main.bin_s)} may exceed: {units.rate(promise.bps)} "
        f"by {model}; {promise.share:.2%} did{unseen}{_judged(promise, measured, rates.size)}. "
        f"The measured quantile is {units.rate(measured)}."
    )


def _judged(promise: Promise, measured: float, bins: int) -> str:
    """What to think of a capacity: by the worse of the shares that exceeded it, as far as there are bins enough."""
    epsilon = promise.epsilon
    if promise.held_out is not None and promise.held_out > FAR * max(epsilon, promise.share):
        return ": the later part is another, growing or changed; do not rely on it"
    if max(promise.share, promise.held_out or 0.0) > FAR * epsilon:
        return ", far more than it promises"
    if promise.share < epsilon / FAR and bins * epsilon >= EXPECTED and measured < ENOUGH * promise.bps:
        return ", far fewer: less capacity would do"
    return ""


def _bill(trace: Trace) -> str:
    """The 95th percentile of five-minute intervals, or of longer bins as they are."""
    volumes = trace.main_volumes
    every = max(INTERVAL_NS, volumes.bin_ns)
    try:
        rates = intervals(volumes, every).rates()
    except AnabranchError:
        return ""
    if rates.size < FEWEST:
        return ""
    bps = quantile(rates, PERCENTILE)[0]
    return (
        f"Bill: the 95th percentile of intervals of {units.time(every)} is {units.rate(bps)} ({rates.size} intervals)."
    )


def _cycle(trace: Trace) -> str:
    volumes = trace.main_volumes
    found = daily_cycle(volumes)
    if found is None:
        long = volumes.bin_ns <= HOUR_NS and len(volumes) * volumes.bin_ns >= DAYS * DAY_NS
        why = "the rate does not vary" if long else f"it takes {DAYS} days, in bins of at most an hour"
        return f"Daily cycle: not to be told ({why})."
    if not found.present:
        return f"Daily cycle: none (autocorrelation at one day {found.correlation:.2f})."
    if not found.is_day:
        swing = "nothing comes at its lowest" if math.isinf(found.ratio) else f"a swing of {found.ratio:.3g} times"
        return (
            f"Daily cycle: of {found.period_ns / HOUR_NS:.3g} h, which is no day: {swing} (autocorrelation at that lag "
            f"{found.correlation:.2f}). Its busy hours move through the clock: check the time stamps, or the interval "
            "between rows (--interval); dimension for the busy hours."
        )
    clock = "UTC" if volumes.start_ns >= DATED_NS else "after the beginning of a day of the series"
    busy, quiet = (f"{hour:02}:00 to {hour + 1:02}:00" for hour in (found.peak_h, found.trough_h))
    text = f"busiest at {busy}, quietest at {quiet} {clock}"
    text += ", when nothing comes" if math.isinf(found.ratio) else f", {found.ratio:.3g} times as much"
    strength, advice = ("weak: ", "") if found.ratio < WEAK else ("", ": dimension for the busy hours")
    return f"Daily cycle: {strength}{text} (autocorrelation at one day {found.correlation:.2f}){advice}."


def _of_several(traces: Sequence[Trace]) -> list[str]:
    n = len(traces)
    best = Counter(trace.main.study.best for trace in traces)
    leaders = ", ".join(f"{label(name)} {count}" for name, count in best.most_common() if name is not None)
    badly = [trace for trace in traces if trace.main.study.fitted and trace.main.study.fitted[0].ks > KS_WARN]
    text = [f"Best model by AIC: {leaders} (of {n})."]
    if badly:
        text.append(f"Even the best model is off by more than {KS_WARN:g} (KS distance) on {len(badly)} of {n}.")
    several = [trace for trace in traces if trace.main.multimodal]
    if several:
        text.append(f"The density has more than one mode on {len(several)} of {n}: no single model describes them.")
    odd = [trace for trace in traces if trace.anomalous]
    if odd:
        kinds = Counter(anomaly.kind for trace in odd for anomaly in trace.main.anomalies)
        what = ", ".join(f"{kind} {count}" for kind, count in kinds.most_common())
        text.append(f"Anomalous: {len(odd)} of {n} ({what}); fit the time in use, or do not fit.")
    changing = [trace for trace in traces if len({v.study.best for v in trace.sweep.verdicts}) > 1]
    swept = [trace for trace in traces if len(trace.sweep.verdicts) > 1]
    if swept:
        text.append(f"The best model changes with the bin width on {len(changing)} of {len(swept)} with several.")
    return text
