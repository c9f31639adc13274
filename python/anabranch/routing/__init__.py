"""Loads of oblivious routing without simulation: how a routing scheme uses a fabric under given traffic, and at worst.

`analyse` compares schemes under a traffic matrix, `optimum` finds the least possible load, `worst_pattern` the traffic
that is worst for a scheme, `decompose` says which levels traffic reaches, `bounds` evaluates the theorems of Song's
dissertation, `weights` chooses shares of paths for traffic that is known, and `switch_ratio` computes oblivious ratios
of switches.

The loads are computed by the crate ``anabranch-routing``, in exact fractions; linear programs by SciPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.routing.analysis import analyse, bounds, decompose, worst_pattern
    from anabranch.routing.inputs import schemes, traffic_matrix, view
    from anabranch.routing.programs import optimum, weights, weights_csv
    from anabranch.routing.ratio import switch_ratio

__all__ = [
    "analyse",
    "bounds",
    "decompose",
    "optimum",
    "schemes",
    "switch_ratio",
    "traffic_matrix",
    "view",
    "weights",
    "weights_csv",
    "worst_pattern",
]

_HOME = {
    "optimum": "programs",
    "schemes": "inputs",
    "switch_ratio": "ratio",
    "traffic_matrix": "inputs",
    "view": "inputs",
    "weights": "programs",
    "weights_csv": "programs",
}
"""Names that are not of `analysis`; SciPy is imported with `programs` and `ratio` only."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = _HOME.get(name, "analysis")
    value: object = getattr(importlib.import_module(f"anabranch.routing.{module}"), name)
    globals()[name] = value
    return value
