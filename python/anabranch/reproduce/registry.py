"""Every experiment, one line each, in the order of the papers."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from anabranch.base import bundle
from anabranch.errors import AnabranchError
from anabranch.reproduce.experiments import (
    background,
    beyond,
    delay,
    incast,
    joy_adaptation,
    joy_emulator,
    joy_fabric,
    joy_flow_aware,
    models,
    ndp_ecmp,
    ndp_parameters,
    ndp_short_flows,
    ndp_web_search,
    overhead,
    polyraptor,
    published,
    pull_order,
    realistic,
    sharing,
    song_barrier,
    song_front_back,
    song_routing,
    song_throughput,
    storage,
    unnecessary,
    window,
)
from anabranch.reproduce.explanations import explained
from anabranch.reproduce.papers import PAPERS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anabranch.reproduce.model import Experiment

_ALL: tuple[Experiment, ...] = (
    storage.FIG1,
    storage.FIG5,
    storage.FIG6,
    background.BACKGROUND,
    realistic.FIG7,
    realistic.FIG8,
    realistic.BUFFERS,
    models.MODEL_STEPS,
    realistic.FIG9,
    realistic.FIG10,
    realistic.FIG11,
    pull_order.PULL_ORDER,
    incast.INCAST,
    incast.OUTCAST,
    window.FIG13,
    overhead.FIG14,
    window.FIG15,
    delay.DELAYS,
    published.PUBLISHED,
    unnecessary.FIG16,
    sharing.FIG17,
    polyraptor.STORAGE,
    polyraptor.INCAST,
    beyond.STRAGGLERS,
    beyond.TRIMMING,
    beyond.COEXISTENCE,
    beyond.FAST_LINKS,
    beyond.K16,
    beyond.TOPOLOGIES,
    beyond.DECODE_LATENCY,
    ndp_short_flows.FIG6,
    ndp_ecmp.FIG7,
    ndp_parameters.FIG8A,
    ndp_parameters.FIG8B,
    ndp_parameters.FIG8C,
    ndp_web_search.FIG9,
    joy_flow_aware.FIG9,
    joy_flow_aware.FIG10,
    joy_flow_aware.FIG11,
    joy_flow_aware.BETAS,
    joy_adaptation.FIG19,
    joy_emulator.EMULATOR,
    joy_adaptation.DAY,
    joy_fabric.FABRIC,
    song_front_back.GOODPUT,
    song_routing.TABLES,
    song_routing.FINDINGS,
    song_front_back.EXAMPLES,
    song_throughput.FIG10,
    song_throughput.FIG11,
    song_throughput.WINDOWS,
    song_barrier.FIG14,
    song_barrier.FIG17,
    song_barrier.VARIANTS,
    song_barrier.LARGE,
    song_barrier.SETTINGS,
)

EXPERIMENTS: tuple[Experiment, ...] = tuple(explained(one) for one in _ALL)
"""All of them, with what is known of their deviations."""


def of_paper(paper: str) -> tuple[Experiment, ...]:
    """The experiments of a paper, in order."""
    return tuple(one for one in EXPERIMENTS if one.paper == paper)


def find(names: Sequence[str]) -> tuple[Experiment, ...]:
    """Find experiments by name; a paper's name stands for all of its experiments.

    Parameters
    ----------
    names
        ``scdp/fig13``, or ``scdp``.

    Returns
    -------
    tuple[Experiment, ...]
        Each once, in the order given.

    Raises
    ------
    AnabranchError
        If there is no such experiment; the hint says what was probably meant.
    """
    found: dict[str, Experiment] = {}
    known = {one.name: one for one in EXPERIMENTS}
    papers = [paper.name for paper in PAPERS]
    for name in names:
        wanted = name.strip("/")
        if wanted in papers:
            found |= {one.name: one for one in of_paper(wanted)}
        elif wanted in known:
            found[wanted] = known[wanted]
        else:
            raise AnabranchError(f"no experiment is called {name!r}", hint=_suggest(wanted, [*known, *papers]))
    return tuple(found.values())


def _suggest(wanted: str, names: Sequence[str]) -> str:
    # `fig13` for `scdp/fig13`, and slips of the keyboard.
    ends = [name for name in names if name.partition("/")[2] == wanted]
    near = ends or difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return "`anabranch reproduce --list` lists them"


def scenario(experiment: Experiment) -> Path:
    """Path of an experiment's scenario.

    Raises
    ------
    AnabranchError
        If it is not there, or if the experiment is a calculation.
    """
    if experiment.calculate:
        raise AnabranchError(f"{experiment.name} is a calculation: it has no scenario")
    return bundle.find(experiment.file)
