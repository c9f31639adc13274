"""Anabranch: a laboratory for data-centre transports.

Run a scenario, load its results, compare transports::

    import anabranch

    results = anabranch.run("scenarios/examples/demo.toml", out="out/demo")
    anabranch.stats.fct_table(results)

`load` opens results that are already there. The simulator itself is the extension module ``anabranch._core``; it is
imported on first use, so that loading and reporting work without it.
"""

from anabranch import stats
from anabranch.api import Plan, PlannedRun, plan, run
from anabranch.errors import AnabranchError, ResultError, ScenarioError
from anabranch.results import Results, load
from anabranch.version import __version__

__all__ = [
    "AnabranchError",
    "Plan",
    "PlannedRun",
    "ResultError",
    "Results",
    "ScenarioError",
    "__version__",
    "load",
    "plan",
    "run",
    "stats",
]
