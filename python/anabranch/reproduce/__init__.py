"""The papers' experiments, run again: scenarios in, figures and a comparison with the papers' numbers out.

An experiment (`Experiment`) is a committed scenario and a few lines of Python that say which figures to draw from its
results and which of the paper's numbers to compare (`Claim`). ``docs/how-to/add-an-experiment.md`` adds one.
"""

from anabranch.reproduce.claims import Claim, relative
from anabranch.reproduce.model import Experiment
from anabranch.reproduce.panels import (
    bars,
    ccdf,
    cdf,
    means,
    ranked,
    stacked,
    time_series,
    transports,
    values_of,
    variant,
)
from anabranch.reproduce.reduce import at, by_seed, compared, lowered, raised, ratio_by_seed, requests, where
from anabranch.showing.figures import Axis, Figure, Panel, Series

__all__ = [
    "Axis",
    "Claim",
    "Experiment",
    "Figure",
    "Panel",
    "Series",
    "at",
    "bars",
    "by_seed",
    "ccdf",
    "cdf",
    "compared",
    "lowered",
    "means",
    "raised",
    "ranked",
    "ratio_by_seed",
    "relative",
    "requests",
    "stacked",
    "time_series",
    "transports",
    "values_of",
    "variant",
    "where",
]
