"""The paper's claims on the traffic at hand: computes ``docs/fidelity/data/traffic.json`` and the tables of the page.

Run by ``make fidelity-traffic``, with the traces in ../shared. The tables are made from the file alone, so that no
number in the page is typed by hand; a test compares them.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import traces

from anabranch.traffic import tails
from anabranch.traffic.anomalies import anomalies
from anabranch.traffic.bill import quantile
from anabranch.traffic.dimension import Capacity, dimension
from anabranch.traffic.fit import KS_WARN, Fitted, fit, variation
from anabranch.traffic.forecast import nrmse
from anabranch.traffic.outcome import LEVEL, Inconclusive
from anabranch.traffic.tails import Against, Goodness, Tail

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anabranch.traffic.series import Volumes

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "docs" / "fidelity" / "data" / "traffic.json"
PAGE = ROOT / "docs" / "fidelity" / "traffic.md"

EPSILON = 0.01
LOOSER = (0.5, 0.1, 0.05)
"""The paper's other targets."""
REPLICATES = 1000
MODELS = ("lognormal", "weibull", "normal")

GOOD = 0.95
"""Above this gamma a fit is good, says the paper."""

PAPER_BIN_S = 5.0
"""The paper's widest bins."""


def study(trace: str, width: str, volumes: Volumes) -> dict[str, Any]:
    """One row of the data: everything that the claims are about."""
    found = fit(volumes)
    rates = volumes.rates()
    both = {rule: tails.clauset(volumes, rule) for rule in tails.RULES}
    power = {rule: _power(volumes, rule, tail) for rule, tail in both.items()}
    actual = quantile(rates)[0]
    return {
        "trace": trace,
        "bin": width,
        "bin_s": volumes.bin_s,
        "n": found.n,
        "zero_share": found.zeros / found.n,
        "best": found.best,
        "tied": found.tied,
        "ks": {name: f.ks for name, f in found.fits.items() if isinstance(f, Fitted)},
        "gamma": {name: f.gamma for name, f in found.fits.items() if isinstance(f, Fitted)},
        "power": power,
        "anomalies": [a.kind for a in anomalies(volumes)],
        "held_out": _held_out(volumes, EPSILON),
        "looser": {str(epsilon): _held_out(volumes, epsilon) for epsilon in LOOSER},
        "p95": {
            name: f.quantile(0.95) / actual
            for name, f in found.fits.items()
            if isinstance(f, Fitted) and name in MODELS and actual > 0
        },
        "scale": actual / float(rates.mean()),
    }


def _held_out(volumes: Volumes, epsilon: float) -> dict[str, Any]:
    """By method, the share of the bins of the later part that are above the capacity, with its interval."""
    found = dimension(volumes, epsilon=epsilon).capacities
    return {one.method: one.held_out.as_json() for one in found if isinstance(one, Capacity) and one.held_out}


def _power(volumes: Volumes, rule: tails.Rule, tail: Tail | Inconclusive) -> dict[str, Any]:
    if isinstance(tail, Inconclusive):
        return {"inconclusive": tail.reason}
    good = tails.goodness(volumes, rule, replicates=REPLICATES)
    against = {
        name: {"r": test.r, "p": test.p, "verdict": test.verdict}
        for name, test in tail.against.items()
        if isinstance(test, Against)
    }
    return {
        "alpha": tail.alpha,
        "n_tail": tail.n_tail,
        "n": tail.n,
        "p": good.p if isinstance(good, Goodness) else None,
        "against": against,
    }


def of(rows: list[dict[str, Any]], holds: Callable[[dict[str, Any]], bool]) -> str:
    """How many rows something holds for."""
    return f"{sum(map(holds, rows))} of {len(rows)}"


def _against(row: dict[str, Any], rule: str, name: str, verdict: str) -> bool:
    return bool(row["power"][rule]["against"].get(name, {}).get("verdict", "inconclusive") == verdict)


def _ruled_out(row: dict[str, Any], rule: str) -> bool:
    return row["power"][rule]["p"] is not None and row["power"][rule]["p"] <= LEVEL


def _shares(row: dict[str, Any], epsilon: float) -> dict[str, Any]:
    """What was above the capacities for an epsilon, by method."""
    found: dict[str, Any] = row["held_out"] if epsilon == EPSILON else row["looser"][str(epsilon)]
    return found


def _kept(method: str, epsilon: float, row: dict[str, Any]) -> bool:
    """Whether the promise was kept on the later part: its interval does not lie above epsilon."""
    found = _shares(row, epsilon)
    return method in found and found[method]["low"] <= epsilon


def _best(rows: list[dict[str, Any]]) -> str:
    return of(rows, lambda row: row["best"] == "lognormal")


def _listed(parts: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name} {text}" for name, text in parts)


def _both(rows: list[dict[str, Any]], holds: Callable[[dict[str, Any], str], bool]) -> str:
    """How many rows something holds for under either rule for x_min."""
    whole, fitted = (of(rows, partial(_swapped, holds, rule)) for rule in ("whole", "fitted"))
    return f"whole sample: {whole}; fitted x_min: {fitted}"


def _swapped(holds: Callable[[dict[str, Any], str], bool], rule: str, row: dict[str, Any]) -> bool:
    return holds(row, rule)


def _distribution(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Claims of section III."""
    calm = [row for row in rows if not row["anomalies"]]
    fine = [row for row in rows if row["bin_s"] <= PAPER_BIN_S]
    badly = [row for row in rows if row["ks"]["lognormal"] > KS_WARN]
    tail = statistics.median(row["power"]["fitted"]["n_tail"] / row["power"]["fitted"]["n"] for row in rows)
    tied = of(rows, lambda r: "lognormal" in {r["best"], *r["tied"]})
    best = f"best by AIC on {_best(rows)} series, best or tied on {tied}; without anomalous ones best on {_best(calm)}"
    likelier = _both(rows, lambda r, rule: _against(r, rule, "lognormal", "alternative"))
    over_exponential = _both(rows, lambda r, rule: _against(r, rule, "exponential", "power law"))
    explained = of(badly, lambda r: bool(r["anomalies"]))
    good = _listed((name, of(rows, partial(_good, name))) for name in ("lognormal", "normal"))
    larger = of(rows, lambda r: r["gamma"]["lognormal"] > r["gamma"]["normal"])
    several, spreads = _variations(rows)
    return [
        ("The log-normal is the best fit of the vast majority of traces", "§III-A", best),
        ("... at every bin width from 5 ms to 5 s", "§III-A", f"at those widths best on {_best(fine)}"),
        ("The power law is ruled out (p ≤ 0.1)", "§III", _both(rows, _ruled_out)),
        (
            "R < 0 and p < 0.1 for the log-normal against the power law",
            "§III-A, Fig. 1, 2",
            f"{likelier}, where the median tail holds {tail:.0%} of the bins",
        ),
        ("The power law is favoured over the exponential (R > 0, p < 0.1)", "§III-A, Fig. 1", over_exponential),
        (
            "Traces that the log-normal does not fit are anomalous: outages, saturation",
            "§III-B",
            f"of the series on which its KS distance is above {KS_WARN}, {explained} are found anomalous",
        ),
        (
            f"gamma > {GOOD} for the log-normal on most traces",
            "§III-C, Fig. 4",
            f"{good}; the log-normal's is the larger on {larger}",
        ),
        (
            "The variation of gamma over bin widths is below 0.045 for the log-normal, larger for the normal",
            "§III-C, Fig. 4",
            f"{several} traces have several widths: {spreads}",
        ),
    ]


def _good(model: str, row: dict[str, Any]) -> bool:
    return bool(row["gamma"][model] > GOOD)


def _variations(rows: list[dict[str, Any]]) -> tuple[int, str]:
    """How many traces have several widths, and the range over them of the variation of gamma, by model."""
    widths: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        widths.setdefault(row["trace"], []).append(row)
    several = [group for group in widths.values() if len(group) > 1]
    ranges = []
    for model in ("lognormal", "normal"):
        found = [variation([row["gamma"][model] for row in group]) for group in several]
        ranges.append((model, _range([v for v in found if isinstance(v, float)])))
    return len(several), _listed(ranges)


def _uses(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """Claims of sections IV and V."""
    actual = [row["scale"] for row in rows]
    errors = _listed((m, f"{nrmse(actual, [r['scale'] * r['p95'][m] for r in rows]):.2f}") for m in MODELS)
    middle = _listed((m, f"{statistics.median(abs(r['p95'][m] - 1) for r in rows):.0%}") for m in MODELS)
    closest = _listed((m, of(rows, partial(_is_closest, m))) for m in MODELS)
    return [
        *(_promise(rows, epsilon) for epsilon in (*LOOSER, EPSILON)),
        (
            "The log-normal predicts the 95th percentile best, then Weibull, then normal",
            "§V, Fig. 7, Table I",
            f"NRMSE over all series in units of their mean: {errors}; median error: {middle}; closest on: {closest}",
        ),
    ]


def _promise(rows: list[dict[str, Any]], epsilon: float) -> tuple[str, str, str]:
    """Figure 6 for one epsilon."""
    methods = ("meent", *MODELS, "empirical")
    known = {m: [found[m]["share"] for found in (_shares(r, epsilon) for r in rows) if m in found] for m in methods}
    kept = _listed((m, of(rows, partial(_kept, m, epsilon))) for m in methods)
    mean = _listed((m, f"{statistics.mean(shares):.3f}") for m, shares in known.items())
    return (
        f"Capacities by the log-normal keep their promise (epsilon = {epsilon}), Meent's formula fails",
        "§IV, Fig. 6",
        f"on the later third, not refuted: {kept}; mean epsilon-hat: {mean}",
    )


def _is_closest(model: str, row: dict[str, Any]) -> bool:
    return _closest(row) == model


def claims(rows: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    """The paper's claims, where they are made, and what the data say."""
    return [*_distribution(rows), *_uses(rows)]


def _closest(row: dict[str, Any]) -> str:
    off = {name: abs(share - 1) for name, share in row["p95"].items()}
    return str(min(off, key=off.__getitem__))


def _range(values: list[float]) -> str:
    return f"{min(values):.3f} to {max(values):.3f}" if values else "–"


def _r(row: dict[str, Any], rule: str) -> str:
    test = row["power"][rule]["against"].get("lognormal")
    if test is None:
        return "same"
    mark = "" if test["p"] < LEVEL else " ○"
    return f"{test['r']:+.1f}{mark}"


def _share(row: dict[str, Any], method: str) -> str:
    found = row["held_out"].get(method)
    return "–" if found is None else f"{found['share']:.3f}"


def tables(rows: list[dict[str, Any]]) -> dict[str, str]:
    """The page's tables, by the name of their marker."""
    said = ["| the paper says | where | on this data |", "|---|---|---|"]
    said += [f"| {claim} | {where} | {finding} |" for claim, where, finding in claims(rows)]
    head = (
        "trace | bin | n | empty | best (tied) | KS | gamma LN / N | R, whole sample | R, fitted x_min (n_tail) | "
        "p, fitted | epsilon-hat LN / Meent / Weibull | 95th LN / Weibull / N | anomaly"
    )
    lines = [f"| {head} |", "|---|---|" + "---:|" * 2 + "---|" + "---:|" * 7 + "---|"]
    for row in rows:
        fitted = row["power"]["fitted"]
        tied = f" ({', '.join(row['tied'])})" if row["tied"] else ""
        cells = [
            row["trace"],
            row["bin"],
            str(row["n"]),
            f"{row['zero_share']:.0%}",
            f"{row['best']}{tied}",
            f"{row['ks'][row['best']]:.2f}",
            f"{row['gamma']['lognormal']:.3f} / {row['gamma']['normal']:.3f}",
            _r(row, "whole"),
            f"{_r(row, 'fitted')} ({fitted['n_tail']})",
            "–" if fitted["p"] is None else f"{fitted['p']:.2f}",
            " / ".join(_share(row, m) for m in ("lognormal", "meent", "weibull")),
            " / ".join(f"{row['p95'][m] - 1:+.0%}" if m in row["p95"] else "–" for m in MODELS),
            ", ".join(row["anomalies"]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return {"claims": "\n".join(said), "series": "\n".join(lines)}


def page(text: str, rows: list[dict[str, Any]]) -> str:
    """The page with its tables made anew."""
    for name, table in tables(rows).items():
        begin, end = f"<!-- {name}: made by `make fidelity-traffic` -->\n", f"\n<!-- end {name} -->"
        before, rest = text.split(begin)
        _, after = rest.split(end)
        text = f"{before}{begin}{table}{end}{after}"
    return text


def clean(value: object) -> object:
    """Numbers to ten digits, so that the file does not change with the last bits of a machine's arithmetic."""
    if isinstance(value, dict):
        return {key: clean(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [clean(part) for part in value]
    if isinstance(value, float):
        return float(f"{value:.10g}") if math.isfinite(value) else None
    return value


def main() -> None:
    """Compute everything and write it."""
    if not traces.TRACES.is_dir():
        sys.exit(traces.MISSING)
    rows = []
    for (trace, width), make in traces.SERIES.items():
        print(f"{trace} {width}", file=sys.stderr)
        rows.append(study(trace, width, make()))
    lines = ",\n".join(json.dumps(clean(row)) for row in rows)
    DATA.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
    PAGE.write_text(
        page(PAGE.read_text(encoding="utf-8"), json.loads(DATA.read_text(encoding="utf-8"))), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
