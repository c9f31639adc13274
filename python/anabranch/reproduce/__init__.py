"""The papers' experiments, run again: scenarios in, figures and a comparison with the papers' numbers out.

An experiment is a folder of ``scenarios/`` with a scenario and ``experiment.toml``, which says what figures to draw of
the results and which of the paper's numbers to compare. ``docs/how-to/add-an-experiment.md`` adds one;
``docs/reference/experiments.md`` has every key.
"""

from anabranch.reproduce.model import Experiment
from anabranch.reproduce.registry import experiments, find, papers

__all__ = ["Experiment", "experiments", "find", "papers"]
