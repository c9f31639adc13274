"""Every experiment: the folders ``scenarios/PAPER/NAME`` with an ``experiment.toml``, in the order of the papers.

What they say is checked when they are read: an experiment that names rows, series, a function, a note or an explanation
that there is not is an error.
"""

from __future__ import annotations

import difflib
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from anabranch.base import bundle
from anabranch.errors import AnabranchError
from anabranch.reproduce import check, schema
from anabranch.reproduce.expand import expanded
from anabranch.reproduce.model import Experiment, Paper, Shared

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PAPER, EXPERIMENT = bundle.ABOUT


@cache
def load(root: Path) -> tuple[tuple[Paper, ...], tuple[Experiment, ...]]:
    """Read the papers and experiments below a folder ``scenarios``.

    Raises
    ------
    AnabranchError
        If one cannot be read; the message names file and key.
    """
    found = [(paper(file), file.parent) for file in root.glob(f"*/{PAPER}")]
    found.sort(key=lambda one: (one[0].order, one[0].name))
    experiments: list[Experiment] = []
    for shared, folder in found:
        own = [experiment(file, shared) for file in folder.glob(f"*/{EXPERIMENT}")]
        experiments += sorted(own, key=lambda one: (one.order, one.name))
    for shared, folder in found:
        for one in (one for one in experiments if one.paper == shared.name):
            check.references(one, experiments, shared, folder / PAPER)
    return tuple(shared for shared, _ in found), tuple(experiments)


def paper(file: Path) -> Paper:
    """Read a ``paper.toml``."""
    made: Paper = schema.parse(Paper, schema.load(file), str(file))
    check.shared(made, file)
    return replace(made, name=file.parent.name)


def experiment(file: Path, shared: Paper) -> Experiment:
    """Read an ``experiment.toml``; what its paper shares is its own then."""
    made: Experiment = schema.parse(Experiment, expanded(schema.load(file), str(file), shared.panels), str(file))
    both: dict[str, Any] = {}
    for one in fields(Shared):
        mine, theirs = getattr(made, one.name), getattr(shared, one.name)
        if twice := set(mine) & set(theirs):
            raise AnabranchError(
                f"{file}: {one.name}.{min(twice)} is in {shared.name}/{PAPER} already", hint="choose another name"
            )
        both[one.name] = {**theirs, **mine}
    made = replace(made, **both, name=f"{shared.name}/{file.parent.name}", folder=file.parent)
    check.names(made, file)
    return made


def _all() -> tuple[tuple[Paper, ...], tuple[Experiment, ...]]:
    return load(bundle.experiments().absolute())


def papers() -> tuple[Paper, ...]:
    """The papers, in order."""
    return _all()[0]


def experiments() -> tuple[Experiment, ...]:
    """All experiments, in the order of the papers."""
    return _all()[1]


def of_paper(name: str) -> tuple[Experiment, ...]:
    """The experiments of a paper, in order."""
    return tuple(one for one in experiments() if one.paper == name)


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
    known = {one.name: one for one in experiments()}
    whole = [one.name for one in papers()]
    for name in names:
        wanted = name.strip("/")
        if wanted in whole:
            found |= {one.name: one for one in of_paper(wanted)}
        elif wanted in known:
            found[wanted] = known[wanted]
        else:
            raise AnabranchError(f"no experiment is called {name!r}", hint=_suggest(wanted, [*known, *whole]))
    return tuple(found.values())


def _suggest(wanted: str, names: Sequence[str]) -> str:
    # `fig13` for `scdp/fig13`, and slips of the keyboard.
    ends = [name for name in names if name.partition("/")[2] == wanted]
    near = ends or difflib.get_close_matches(wanted, names, n=3, cutoff=0.6)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return "`anabranch reproduce --list` lists them"
