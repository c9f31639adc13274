"""The short flows of SCDP §V-B with what the published models of its authors do, one thing after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Claim, Experiment, Figure, at, bars, by_seed, compared, lowered, transports
from anabranch.reproduce.experiments.common import BACKGROUND, GBPS, OWN
from anabranch.reproduce.experiments.realistic import FCT, LOAD_NOTE, LONG, MEAN, PUSHED, SHORT, TAIL, foreground

if TYPE_CHECKING:
    from collections.abc import Callable

    from anabranch.results.tables import Tables

KEYS = (
    "workload.flows.sizes.name",
    "fabric.delay",
    "switch.pushed_first",
    "switch.victim",
    "host.pull_pace",
    OWN,
    "transport.scdp.priority_by",
)
STEPS = {
    ("websearch_pfabric", "10us", False, "auto", 1.0, True, "sent"): "text",
    ("websearch_scdp", "10us", False, "auto", 1.0, True, "sent"): "sizes",
    ("websearch_scdp", "1us", False, "auto", 1.0, True, "sent"): "links",
    ("websearch_scdp", "1us", True, "auto", 1.0, True, "sent"): "pushed first",
    ("websearch_scdp", "1us", True, "arriving", 1.0, True, "sent"): "victim",
    ("websearch_scdp", "1us", True, "arriving", 1.0313, True, "sent"): "fast pulls",
    ("websearch_scdp", "1us", True, "arriving", 1.0313, True, "size"): "by size",
    ("websearch_scdp", "1us", True, "arriving", 1.0313, False, "size"): "shared hosts",
}
"""What each point of the sweep adds to the one before."""
MODELS, SHARED = list(STEPS.values())[-2:]
"""The last step that the published models have, and one that they have not."""
SERIES = ("scdp", "ndp", "ndp+", "pias")


def stepped(results: Tables) -> pl.DataFrame:
    """The flows of the workload, with the name of their step."""
    named = pl.DataFrame([dict(zip((*KEYS, "step"), (*point, name), strict=True)) for point, name in STEPS.items()])
    return foreground(results).join(named, on=KEYS, how="left", maintain_order="left")


def draw(results: Tables) -> tuple[Figure, ...]:
    """Mean of the short flows and tail of those that are pushed as a whole, by step, at both loads."""
    flows = stepped(results)
    loads = flows[BACKGROUND].unique().sort().to_list()
    panels = tuple(
        bars(
            flows.filter(bucket.holds(), at(**{BACKGROUND: load})),
            transports(*SERIES),
            value,
            over="step",
            y=FCT,
            x=Axis("added, from left to right"),
            key="abcd"[row * len(loads) + column],
            caption=f"{caption}, load {load:g}",
        )
        for row, (bucket, value, caption) in enumerate(
            ((SHORT, MEAN, "(0, 100 KB]: average"), (PUSHED, TAIL, "(0, 17 KB]: 99th percentile"))
        )
        for column, load in enumerate(loads)
    )
    return (Figure("models", "Short flows of web search, by what the published models do", panels, columns=2),)


def _of(transport: str, load: float, step: str) -> Callable[[Tables], pl.DataFrame]:
    return lambda results: stepped(results).filter(at(transport=transport, step=step, **{BACKGROUND: load}))


def _settings(step: str) -> str:
    return {MODELS: "as the models", SHARED: "as the models, on shared hosts"}.get(step, f"up to *{step}*")


def mean(transport: str, paper: float, step: str) -> Claim:
    """Mean completion time of the short flows at load 0.8."""
    flows = _of(transport, 0.8, step)
    return Claim(
        key=f"mean-{transport}-{step.replace(' ', '-')}",
        statement=f"{_settings(step)}: mean FCT of {SHORT.label}, {transports(transport)[0].label}, load 0.8",
        where="§V-B",
        paper=paper,
        unit="ms",
        measure=lambda results: by_seed(flows(results).filter(SHORT.holds()), MEAN),
    )


def floor(paper: float) -> Claim:
    """Mean of what the short flows need on an idle fabric: no transport can be faster."""
    flows = _of("scdp", 0.8, MODELS)
    return Claim(
        key="floor",
        statement=f"{_settings(MODELS)}: mean FCT of {SHORT.label} on an idle fabric, the least that there can be",
        where="§V-B",
        paper=paper,
        unit="ms",
        relation="at most",
        measure=lambda results: by_seed(flows(results).filter(SHORT.holds()).with_columns(fct_ns="ideal_fct_ns"), MEAN),
    )


def reduction(transport: str, paper: float, step: str) -> Claim:
    """By how much SCDP's mean completion time of short flows is below another's at load 0.8."""

    def measure(results: Tables) -> dict[int, float]:
        flows = stepped(results).filter(SHORT.holds(), at(step=step, **{BACKGROUND: 0.8}))
        return lowered(compared(flows, MEAN, {"transport": "scdp"}, {"transport": transport}))

    return Claim(
        key=f"reduction-{transport}-{step.replace(' ', '-')}",
        statement=f"{_settings(step)}: SCDP reduces short flows' mean FCT by this, compared to "
        f"{transports(transport)[0].label}, load 0.8",
        where="§I",
        paper=paper,
        unit="%",
        measure=measure,
    )


def long_goodput(paper: float, step: str) -> Claim:
    """Mean goodput of PIAS's flows of 1 to 10 MB at load 0.8."""
    flows = _of("pias", 0.8, step)
    return Claim(
        key=f"long-pias-{step.replace(' ', '-')}",
        statement=f"{_settings(step)}: mean goodput of {LONG.label}, PIAS, load 0.8",
        where="§V-B, Fig. 7d",
        paper=paper,
        unit="Gbps",
        measure=lambda results: by_seed(flows(results).filter(LONG.holds()), GBPS.mean()),
    )


def pushed(transport: str, step: str, paper: float) -> Claim:
    """Tail of the flows that are pushed as a whole at load 0.5."""
    flows, label = _of(transport, 0.5, step), transports(transport)[0].label
    return Claim(
        key=f"pushed-{transport}-{step.replace(' ', '-')}",
        statement=f"{_settings(step)}: 99th percentile FCT of {PUSHED.label}, {label}, load 0.5",
        where="§V-D, Fig. 7b",
        paper=paper,
        unit="ms",
        measure=lambda results: by_seed(flows(results).filter(PUSHED.holds()), TAIL),
    )


MODEL_STEPS = Experiment(
    name="scdp/models",
    title="Web-search traffic with what the published models do",
    question="How much of what the paper says of short flows follows from what its authors’ simulators do?",
    section="§V-B",
    figures=("models",),
    draw=draw,
    claims=(
        *(
            mean(name, paper, step)
            for step in (MODELS, SHARED)
            for name, paper in (("scdp", 0.31), ("ndp+", 0.292), ("pias", 0.43))
        ),
        floor(0.292),
        *(reduction(name, paper, step) for step in (MODELS, SHARED) for name, paper in (("ndp", 45), ("pias", 70))),
        *(long_goodput(0.7, step) for step in (MODELS, SHARED)),
        *(
            pushed(name, step, paper)
            for step in ("sizes", MODELS, SHARED)
            for name, paper in (("scdp", 0.277), ("ndp", 0.306), ("pias", 0.386))
        ),
    ),
    quick=(
        "fabric.k=4",
        "workload.flows.arrivals.rate=160",
        "workload.flows.sessions=48",
        "repeat=1",
    ),
    notes=(
        "Not in the paper. The steps are in the scenario, each with the file that it was read from. NDP’s and NDP+’s "
        "models are published, SCDP’s and PIAS’s are not; RaQSac’s descend from the same code. *Shared hosts*, the "
        "last "
        f"step, are not of the models, but the other way to read the text. {LOAD_NOTE}"
    ),
)
