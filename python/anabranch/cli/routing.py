"""The command ``anabranch routing``: loads of routing schemes on a fabric under given traffic, without simulation."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anabranch.cli.common import errors, stderr, stdout
from anabranch.errors import RoutingError

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from anabranch.routing.model import Decomposition, LoadReport, SchemeLoads, WorstPattern, WorstReport

SHOWN = 12
"""Flows of a worst pattern that are written out."""

CLOSE = 1 + 1e-6
"""Ratio up to which a scheme counts as optimal: linear programs are solved in floating point."""

WEIGHTED_PAIRS = 20_000
"""Pairs that send, up to which weights of paths are tried unasked."""

EPILOG = """\
Schemes: nr, d-mod-k, s-mod-k, dnvr, balanced, virtual-tables:V, mdnvr-k:K, ecmp, mdnvr, vlb, weighted. Loads are
in units of the traffic. Exit codes: 0 done; 1 the simulator is not installed; 2 bad input, or output that cannot be
written; 70 a fault of this program.
"""


def routing_command(
    fabric: Annotated[
        str,
        typer.Argument(
            help="A table such as 'topology=\"m-port-n-tree\", m=4, n=3', a scenario file (its [fabric]) "
            "or a topology file.",
            metavar="FABRIC",
        ),
    ],
    *,
    traffic: Annotated[
        str,
        typer.Option(
            "--traffic",
            "-t",
            help="stride:N, random (a permutation), uniform, senders:N, incast:N, all-to-all, or a CSV file of "
            "source,destination,amount.",
            metavar="TRAFFIC",
        ),
    ],
    scheme: Annotated[
        list[str] | None,
        typer.Option("--scheme", "-s", help="Scheme; may be given several times.", metavar="NAME", show_default="all"),
    ] = None,
    fail: Annotated[
        list[str] | None,
        typer.Option(help="A link that has failed: leaf0-spine1. May be given several times.", metavar="LINK"),
    ] = None,
    worst: Annotated[
        str | None, typer.Option(help="Also find the traffic that is worst for this scheme.", metavar="NAME")
    ] = None,
    decompose: Annotated[
        bool, typer.Option("--decompose", help="Also show which level of switches each pair reaches.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of random traffic and random paths.")] = 1,
    floating: Annotated[
        bool, typer.Option("--float", help="Floating point instead of exact fractions: always fits.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON instead of tables.")] = False,
    svg: Annotated[
        Path | None,
        typer.Option(
            help="Draw the fabric with the loads of the first scheme given, or else the best.", metavar="FILE"
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write a page that draws every scheme.", metavar="FILE")] = None,
    weights: Annotated[
        Path | None,
        typer.Option(
            help="Write paths and weights chosen for this traffic, for the simulator's routing.weighted.file.",
            metavar="FILE",
        ),
    ] = None,
) -> None:
    """Compute how routing schemes load a fabric: exact loads, the least possible, and worst-case traffic."""
    with errors():
        from anabranch import routing  # noqa: PLC0415 - `--help` can do without
        from anabranch.base import targets  # noqa: PLC0415

        inputs = [name for name in (fabric, traffic) if Path(name).is_file()]
        for target, option in ((svg, "--svg"), (html, "--html"), (weights, "--weights")):
            if target is not None:
                targets.check(target, inputs, option)
        failed = list(fail or ())
        exact = not floating
        report = routing.analyse(fabric, traffic, scheme, failed=failed, seed=seed, exact=exact)
        better = None if scheme else _better(report, fabric, traffic, failed, seed=seed, exact=exact)
        if better is not None:
            report = replace(report, schemes=(*report.schemes, better))
        pattern = (
            None
            if worst is None
            else routing.worst_pattern(fabric, worst, failed=failed, seed=seed, exact=exact, switches=_small(report))
        )
        parts = routing.decompose(fabric, traffic, failed=failed, seed=seed) if decompose else None
        drawn = report.schemes[0] if scheme else report.best
        _draw(report, drawn, svg, html)
        if weights is not None:
            text = routing.weights_csv(fabric, [traffic], failed=failed, seed=seed)
            with targets.whole(weights) as draft:
                draft.write_text(text, encoding="utf-8")
            stderr().print(f"paths: {weights}", markup=False)
        if as_json:
            typer.echo(json.dumps(as_data(report, pattern, parts), indent=2))
        else:
            _show(report, drawn, pattern, parts)
        for note in report.notes:
            stderr().print(f"note: {note}", markup=False)


def _small(report: LoadReport) -> bool:
    """Whether the worst traffic of switches is found in seconds for every scheme."""
    return report.fabric.hosts <= 256  # noqa: PLR2004 - FT(8, 3) has 128


def _better(
    report: LoadReport, fabric: str, traffic: str, failed: list[str], *, seed: int, exact: bool
) -> SchemeLoads | None:
    """Weights of paths, if every scheme is worse than the optimum and the program is small."""
    from anabranch import routing  # noqa: PLC0415 - as above

    best = report.best.perf
    if best is None or best.value <= CLOSE or report.pairs > WEIGHTED_PAIRS:
        return None
    try:
        return routing.analyse(fabric, traffic, ["weighted"], failed=failed, seed=seed, exact=exact).schemes[0]
    except RoutingError:  # too many paths: the schemes stand without it
        return None


def _draw(report: LoadReport, drawn: SchemeLoads, svg: Path | None, html: Path | None) -> None:
    from anabranch.base import targets  # noqa: PLC0415 - as above
    from anabranch.routing import drawing  # noqa: PLC0415

    if svg is not None:
        with targets.whole(svg) as draft:
            draft.write_text(drawing.svg(report, drawn), encoding="utf-8")
        stderr().print(f"drawing: {svg}", markup=False)
    if html is not None:
        with targets.whole(html) as draft:
            draft.write_text(drawing.html(report, report.schemes), encoding="utf-8")
        stderr().print(f"page: {html}", markup=False)


def as_data(
    report: LoadReport, pattern: WorstReport | None = None, parts: Decomposition | None = None
) -> dict[str, Any]:
    """Everything, for ``--json``: loads as ``{"text": "16/3", "value": 5.33}``, links by name."""
    fabric = report.fabric
    names = [
        f"{fabric.nodes[a].name}-{fabric.nodes[b].name}"
        for link in fabric.links
        for a, b in ((link.a, link.b), (link.b, link.a))
    ]

    def one(loads: SchemeLoads) -> dict[str, Any]:
        data = asdict(loads)
        data["links"] = (
            dict(zip(names, data.pop("ports"), strict=True)) if len(set(names)) == len(names) else data["ports"]
        )
        data["switches"] = {
            node.name: load for node, load in zip(fabric.nodes, data.pop("nodes"), strict=True) if node.level != "host"
        }
        return data

    return {
        "best": report.best.scheme,
        "baseload": asdict(report.baseload),
        "total": asdict(report.total),
        "pairs": report.pairs,
        "optimum": None if report.optimum is None else asdict(report.optimum),
        "optusw": None if report.optusw is None else asdict(report.optusw),
        "schemes": [one(loads) for loads in report.schemes],
        "failed": [
            f"{fabric.nodes[link.a].name}-{fabric.nodes[link.b].name}"
            for link, works in zip(fabric.links, report.alive, strict=True)
            if not works
        ],
        "worst": None if pattern is None else asdict(pattern),
        "decomposition": None if parts is None else json.loads(json.dumps(asdict(parts), default=_text)),
        "notes": list(report.notes),
    }


def _text(value: object) -> str:
    if isinstance(value, Fraction):
        return str(value)
    raise TypeError(type(value).__name__)


def answer(report: LoadReport) -> list[str]:
    """Say in a few lines which scheme is nearest the optimum."""
    best = report.best
    used = best.utilisation
    if report.optimum is None:
        return [
            f"{best.scheme} loads its busiest link least on this traffic: MLOAD {best.mload.load} on {best.mload.at}.",
            f"The least possible is not known; it is no less than the base load of hosts, {report.baseload}.",
        ]
    alike = [one.scheme for one in report.schemes if one.utilisation.load.value <= used.load.value * CLOSE]
    least = report.optimum.load
    # One plural is all the grammar there is.
    who = alike[0] if len(alike) == 1 else f"{', '.join(alike[:-1])} and {alike[-1]}"
    verb = "is" if len(alike) == 1 else "are"
    if best.perf is not None and best.perf.value <= CLOSE:
        text = f"{who} {verb} optimal on this traffic: MLOAD {used.load}, OPTU {least}, PERF 1."
    else:
        text = (
            f"{who} {verb} nearest the optimum on this traffic: MLOAD {used.load}, OPTU {least}, PERF {_ratio(best)}."
        )
    how = report.optimum.method
    if report.optimum.variables:
        how += f", {report.optimum.variables} variables, {report.optimum.seconds:.2f} s"
    return [text, f"Base load {report.baseload}; OPTU by {how}."]


def _ratio(loads: SchemeLoads) -> str:
    return "-" if loads.perf is None else _short(loads.perf.text)


def _short(text: str) -> str:
    """Cut decimals to three; fractions stay.

    Examples
    --------
    >>> _short("1.333333"), _short("4/3"), _short("2")
    ('1.333', '4/3', '2')
    """
    return f"{float(text):.4g}" if "." in text else text


def _show(report: LoadReport, drawn: SchemeLoads, pattern: WorstReport | None, parts: Decomposition | None) -> None:
    out = stdout()
    for line in answer(report):
        typer.echo(line)
    out.print(_schemes(report))
    typer.echo(f"{drawn.scheme} by level:")
    out.print(_levels(drawn))
    if pattern is not None:
        for line in worst_lines(report, pattern):
            typer.echo(line)
    if parts is not None:
        for part in parts.parts:
            typer.echo(f"{part.letter}: {part.pairs} pairs reach {part.name} and no higher, {part.amount} in all")
        if parts.text is not None:
            typer.echo(parts.text.rstrip("\n"))


def _schemes(report: LoadReport) -> RenderableType:
    table = _table("scheme", "MLOAD", "PERF", "worst link", "MLOADSW", "PERFSW", "worst switch")
    ordered = sorted(report.schemes, key=lambda s: (round(s.utilisation.load.value, 9), round(s.mloadsw.load.value, 9)))
    for one in ordered:
        perfsw = "-" if one.perfsw is None else _short(one.perfsw.text)
        table.add_row(
            one.scheme,
            _short(one.utilisation.load.text),
            _ratio(one),
            one.utilisation.at,
            _short(one.mloadsw.load.text),
            perfsw,
            one.mloadsw.at,
        )
    return _narrowing(table)


def _levels(loads: SchemeLoads) -> RenderableType:
    table = _table("level", "up", "link", "down", "link", "switch", "which", "PERFSW_t")
    for one in loads.levels:
        cells = [f"{one.level} {one.name}"]
        for place in (one.up, one.down, one.switch):
            cells += ["-", "-"] if place is None else [_short(place.load.text), place.at]
        table.add_row(*cells, "-" if one.perfsw is None else _short(one.perfsw.text))
    return _narrowing(table)


def _narrowing(table: Table) -> RenderableType:
    from anabranch.showing.layout import narrowing  # noqa: PLC0415 - `--help` can do without

    return narrowing(table)


def _table(first: str, *others: str) -> Table:
    from rich import box  # noqa: PLC0415 - `--help` can do without
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for name in others:
        text = name in {"worst link", "worst switch", "link", "which"}
        table.add_column(name, justify="left" if text else "right", no_wrap=True)
    return table


def worst_lines(report: LoadReport, found: WorstReport) -> list[str]:
    """Say what traffic is worst for a scheme."""
    link = found.link
    needed = f"{link.examined} of {link.of} links needed a matching"
    lines = [
        f"Worst traffic for {found.scheme} (no host sends or gets more than 1): {link.load.load} on {link.load.at}.",
        f"  {_flows(report, link)} ({needed})",
    ]
    lines += [f"  switches: {one.load.load} through {one.load.at}" for one in found.switches]
    return lines


def _flows(report: LoadReport, pattern: WorstPattern) -> str:
    names = [node.name for node in report.fabric.nodes]
    flows = [f"{names[s]}->{names[d]}" for s, d in enumerate(pattern.permutation) if d is not None]
    more = f" and {len(flows) - SHOWN} more" if len(flows) > SHOWN else ""
    return " ".join(flows[:SHOWN]) + more
