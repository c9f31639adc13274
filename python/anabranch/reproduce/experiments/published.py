"""The storage requests of SCDP §V-A with the settings of the simulators that its authors have published."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, Claim, Experiment, Figure, at, bars, by_seed, requests, transports
from anabranch.reproduce.experiments.common import GBPS, GOODPUT, MODE, OF_THOSE_HIT, OWN, TRIMMED
from anabranch.reproduce.experiments.storage import AVAILABLE, BANDWIDTH_NOTE

if TYPE_CHECKING:
    from anabranch.results import Results

DELAY = "fabric.delay"
PACE = "host.pull_pace"
SETTINGS = {
    ("10us", 1.0, True): "10 µs (text)",
    ("1us", 1.0, True): "1 µs",
    ("1us", 1.0313, True): "1 µs, fast pulls",
    ("10us", 1.0, False): "10 µs, shared hosts",
    ("1us", 1.0, False): "1 µs, shared hosts",
}
KINDS = {
    "one_to_many": "Writes of 1 MB to 3 replicas",
    "many_to_one": "Reads of 1 MB from 3 replicas",
    "unicast": "Unicast, 1.5 MB",
}


def sessions(results: Results) -> pl.DataFrame:
    """The requests, with the name of their settings."""
    keys = (DELAY, PACE, OWN)
    named = pl.DataFrame(
        [dict(zip((*keys, "settings"), (*point, name), strict=True)) for point, name in SETTINGS.items()]
    )
    return requests(results).join(named, on=keys, how="left", maintain_order="left")


def above(share: float) -> pl.Expr:
    """Percentage of the requests whose goodput is above this share of the available bandwidth."""
    return 100 * (pl.col("goodput_bps") > share * AVAILABLE).fill_null(value=False).mean()


def draw_settings(results: Results) -> tuple[Figure, ...]:
    """Goodput, and the share of fast requests, by settings."""
    frame = sessions(results)
    asked = [(mode, name) for mode, name in KINDS.items() if mode in frame[MODE].unique().to_list()]
    measures = (
        (GBPS.fill_null(0.0).mean(), Axis(f"mean {GOODPUT.title}")),
        (above(0.9), Axis("sessions above 90 % (%)", domain=(0, 100))),
    )
    panels = [
        bars(
            frame.filter(at(**{MODE: mode})),
            transports("scdp", "ndp", "pias"),
            value,
            over="settings",
            y=axis,
            key="abcdef"[row * len(asked) + column],
            caption=name,
        )
        for row, (value, axis) in enumerate(measures)
        for column, (mode, name) in enumerate(asked)
    ]
    return (
        Figure("settings", "Settings that the text states and that the published code has", tuple(panels), columns=3),
    )


def fast(
    key: str, transport: str, mode: str, share: float, *, paper: float, delay: str = "1us", own: bool = True
) -> Claim:
    """Share of a transport's requests above a share of the bandwidth, with such links and hosts of background flows."""
    (series,) = transports(transport)
    settings = f"links of {delay.replace('us', ' µs')}" + ("" if own else ", shared hosts")
    what, figure = ("writes", 5) if mode == "one_to_many" else ("reads", 6)
    return Claim(
        key=key,
        statement=f"{settings}: {series.label}, {what} above {share:.0%} of the available bandwidth",
        where=f"§V-A, Fig. {figure}",
        paper=paper,
        unit="%",
        measure=lambda results: by_seed(
            requests(results).filter(at(transport=transport, **{DELAY: delay, PACE: 1.0, MODE: mode, OWN: own})),
            above(share),
        ),
    )


def trimmed(name: str, pace: float, value: pl.Expr, key: str, whose: str = "") -> Claim:
    """Trimmed packets of a unicast session with the default window, with the delay of the published simulator."""
    return Claim(
        key=f"{key}-{name}",
        statement=f"links of 1 µs, {name} pulls: trimmed packets per 1.5 MB session{whose} at w = 12",
        where="§V-F, Fig. 13b",
        paper=13,
        unit="packets",
        measure=lambda results: by_seed(
            requests(results).filter(at(**{DELAY: "1us", PACE: pace, MODE: "unicast", OWN: True})), value
        ),
    )


PUBLISHED = Experiment(
    name="scdp/published",
    title="Storage requests with the settings of the published code",
    question="How much of what the paper reports follows from settings that its text does not state?",
    section="§V-A",
    figures=("settings",),
    draw=draw_settings,
    claims=(
        fast("writes-90", "scdp", "one_to_many", 0.9, paper=50),
        fast("writes-60", "scdp", "one_to_many", 0.6, paper=100),
        *(
            fast(f"reads-90-{transport}{key}", transport, "many_to_one", 0.9, paper=paper, delay=delay, own=own)
            for key, delay, own in (("", "1us", True), ("-shared", "10us", False), ("-shared-1us", "1us", False))
            for transport, paper in (("scdp", 82), ("ndp", 10), ("pias", 23))
        ),
        trimmed("paced", 1.0, TRIMMED.mean(), "trimmed"),
        trimmed("fast", 1.0313, TRIMMED.mean(), "trimmed"),
        trimmed("paced", 1.0, OF_THOSE_HIT, "hit", ", of those that had any,"),
        trimmed("fast", 1.0313, OF_THOSE_HIT, "hit", ", of those that had any,"),
    ),
    quick=(
        "fabric.k=6",  # HDFS places replicas in racks of three hosts at least
        "workload.requests.arrivals.rate=432",  # the same rate per host
        "workload.requests.sessions=54",
        "repeat=2",
    ),
    notes=(
        "The paper states links of 10 µs. The simulators that its authors published have 1 µs (NDP) and 0 µs "
        "(Polyraptor). NDP’s paces pulls by 12 µs while a packet takes 12.376 µs, 1547 bytes with the headers of NDP, "
        "IPv4 and PPP: its pulls ask for 3.1 % more than the link carries (*fast pulls*). SCDP’s own simulator is not "
        "published. In the published ones, hosts of background flows do nothing else; with *shared hosts* they send "
        f"and receive requests, too, as the text may be read. {BANDWIDTH_NOTE}"
    ),
)
