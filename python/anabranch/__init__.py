"""Anabranch: a laboratory for data-centre transports.

Run a scenario, load its results, compare transports::

    import anabranch

    results = anabranch.run("scenarios/examples/demo.toml")
    anabranch.stats.fct_table(results)
    results.plot.fct_tail("<=10KB")

`load` opens results that are already there. The simulator itself is the extension module ``anabranch._core``; it is
imported on first use, so that loading and reporting work without it. So is everything else: ``import anabranch`` takes
no Polars.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anabranch.errors import AnabranchError, ResultError, ScenarioError
    from anabranch.results import findings, stats
    from anabranch.running.plan import Plan, PlannedRun, plan
    from anabranch.running.run import run
    from anabranch.running.sweep import Sweep, sweep
    from anabranch.running.transports import Preset, Transport, transports
    from anabranch.showing.notebook import Results, load
    from anabranch.version import __version__

__all__ = [
    "AnabranchError",
    "Plan",
    "PlannedRun",
    "Preset",
    "ResultError",
    "Results",
    "ScenarioError",
    "Sweep",
    "Transport",
    "__version__",
    "findings",
    "load",
    "plan",
    "run",
    "stats",
    "sweep",
    "transports",
]

_HOME = {
    "AnabranchError": "errors",
    "Plan": "running.plan",
    "PlannedRun": "running.plan",
    "Preset": "running.transports",
    "ResultError": "errors",
    "Results": "showing.notebook",
    "ScenarioError": "errors",
    "Sweep": "running.sweep",
    "Transport": "running.transports",
    "__version__": "version",
    "load": "showing.notebook",
    "plan": "running.plan",
    "run": "running.run",
    "sweep": "running.sweep",
    "transports": "running.transports",
}
"""Public name to the module that it comes from (PEP 562)."""


def __getattr__(name: str) -> object:
    if name in {"findings", "stats"}:
        return importlib.import_module(f"anabranch.results.{name}")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"anabranch.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
