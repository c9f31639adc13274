"""What traces say, a sentence each: of one trace what a planner asks, of several what they have in common."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from anabranch import units
from anabranch.errors import AnabranchError
from anabranch.traffic.bill import INTERVAL_NS, intervals, quantile
from anabranch.traffic.fit import KS_WARN
from anabranch.traffic.report.frames import label
from anabranch.traffic.report.study import PERCENTILE, width
from anabranch.traffic.shape import DAYS, daily_cycle, modes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch.traffic.report.study import Trace

EPSILON = 0.01
"""Share of bins that may exceed the capacity that is told, if none is given."""

FEWEST = 20
"""Billing intervals of which a 95th percentile leaves one out."""

READINGS = ((3.0, ", far more than it promises"), (1 / 3, ""))
"""Shares above the capacity, in epsilons, and what to say of them."""

TOO_MUCH = ", far fewer: less capacity would do"
"""What to say of a capacity that next to nothing exceeds."""

CONSTANT = 1.5
"""Peak hour over trough hour below which a cycle is not worth telling."""


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
        peaks = modes(trace.volumes[verdict.bin_s].rates())
        text = f"Distribution at T = {width(verdict.bin_s)}: {verdict.study.verdict}"
        if verdict.study.fitted and verdict.study.fitted[0].ks <= KS_WARN:
            text += f" (KS {verdict.study.fitted[0].ks:.3f})"
        if len(peaks) > 1:
            where = " and ".join(units.rate(peak) for peak in peaks)
            text += f". The density has {len(peaks)} modes, at {where}, which no single model describes"
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
    measured = quantile(trace.main_volumes.rates(), 100 * (1 - epsilon))[0]
    unseen = "" if promise.held_out is None else f", of those held out {promise.held_out:.2%}"
    wrong = next((text for most, text in READINGS if promise.share > most * epsilon), TOO_MUCH)
    return (
        f"Capacity that {epsilon:.2g} of the bins of {width(trace.main.bin_s)} may exceed: {units.rate(promise.bps)} "
        f"by {label(promise.method)}; {promise.share:.2%} did{unseen}{wrong}. "
        f"The measured quantile is {units.rate(measured)}."
    )


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
    found = daily_cycle(trace.main_volumes)
    if found is None:
        return f"Daily cycle: not to be told from less than {DAYS} days, or bins of more than an hour."
    if not found.present:
        return f"Daily cycle: none (autocorrelation at one day {found.correlation:.2f})."
    times = "" if found.ratio < CONSTANT else f" {found.ratio:.3g} times"
    busy, quiet = (f"{hour:02}:00 to {hour + 1:02}:00" for hour in (found.peak_h, found.trough_h))
    return (
        f"Daily cycle: at {busy} UTC{times} as much as at {quiet} "
        f"(autocorrelation at one day {found.correlation:.2f}): dimension for the busy hours."
    )


def _of_several(traces: Sequence[Trace]) -> list[str]:
    n = len(traces)
    best = Counter(trace.main.study.best for trace in traces)
    leaders = ", ".join(f"{label(name)} {count}" for name, count in best.most_common() if name is not None)
    badly = [trace for trace in traces if trace.main.study.fitted and trace.main.study.fitted[0].ks > KS_WARN]
    text = [f"Best model by AIC: {leaders} (of {n})."]
    if badly:
        text.append(f"Even the best model is off by more than {KS_WARN:g} (KS distance) on {len(badly)} of {n}.")
    several = [trace for trace in traces if len(modes(trace.main_volumes.rates())) > 1]
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
