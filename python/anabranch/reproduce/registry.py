"""Every experiment: the folders ``scenarios/PAPER/NAME`` with an ``experiment.toml``, in the order of the papers.

What they say is checked when they are read: an experiment that names rows, series, a function, a note or an explanation
that there is not is an error.

Short forms are written out before. What a figure says of panels (``kind``, ``rows``, ``x`` ...) holds for each of its
panels that does not say otherwise; a figure without panels is one, and one whose ``panel`` is a text has the panels of
that name of its paper. A claim with ``each`` stands for several: a case replaces keys of the claim, and what else it
says fills ``{name}`` in the claim's texts and filters, where a whole value keeps its type.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from anabranch.base import bundle
from anabranch.errors import AnabranchError
from anabranch.reproduce import check, schema
from anabranch.reproduce.claims import Claim
from anabranch.reproduce.model import Experiment, FigureOf, PanelOf, Paper, Shared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PAPER, EXPERIMENT = bundle.ABOUT
OWN = {one.name for one in fields(FigureOf)}
PANEL = {one.name for one in fields(PanelOf)} - OWN
CLAIM = {one.name.rstrip("_") for one in fields(Claim)}


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
    made: Experiment = schema.parse(Experiment, _expanded(schema.load(file), str(file), shared.panels), str(file))
    both: dict[str, Any] = {}
    for one in fields(Shared):
        mine, theirs = getattr(made, one.name), getattr(shared, one.name)
        if twice := set(mine) & set(theirs):
            raise AnabranchError(
                f"{file}: {one.name}.{min(twice)} is in {shared.name}/{PAPER} already", hint="choose another name"
            )
        both[one.name] = {**theirs, **mine}
    check.common(made, shared, file)
    common = [one for name in (made.ranking.common if made.ranking else ()) for one in shared.common[name]]
    made = replace(made, **both, common=tuple(common), name=f"{shared.name}/{file.parent.name}", folder=file.parent)
    check.names(made, file)
    return made


def _expanded(data: dict[str, Any], at: str, panels: Mapping[str, Sequence[Mapping[str, object]]]) -> dict[str, Any]:
    """The tables of an experiment, written out; `panels` are its paper's."""
    made = dict(data)
    if isinstance(data.get("figure"), list):
        made["figure"] = [_figure(one, at, panels) if isinstance(one, dict) else one for one in data["figure"]]
    if isinstance(data.get("claim"), list):
        made["claim"] = [case for one in data["claim"] for case in _cases(one, at)]
    return made


def _figure(figure: Mapping[str, Any], at: str, named: Mapping[str, Sequence[Mapping[str, object]]]) -> dict[str, Any]:
    shared = {key: value for key, value in figure.items() if key in PANEL}
    own = {key: value for key, value in figure.items() if key not in PANEL}
    panels = figure.get("panel", [{}])
    if isinstance(panels, str):
        if panels not in named:
            where = f"{at}: figure ({figure.get('number')}): panel"
            raise AnabranchError(f"{where}: the paper has no panels {panels!r}", hint=schema.nearest(panels, named))
        panels = list(named[panels])
    if not isinstance(panels, list):
        return own
    return {**own, "panel": [_merged(shared, one) if isinstance(one, dict) else one for one in panels]}


def _merged(shared: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """Both, where tables are put together."""
    tables = {
        key: {**shared[key], **value}
        for key, value in own.items()
        if key in {"filter", "above", "below", "with"} and isinstance(value, dict) and isinstance(shared.get(key), dict)
    }
    return {**shared, **own, **tables}


def _cases(claim: Any, at: str) -> list[Any]:  # noqa: ANN401 - as TOML has it
    if not isinstance(claim, dict) or "each" not in claim:
        return [claim]
    made = []
    cases = claim["each"]
    if not isinstance(cases, list) or not cases or not all(isinstance(case, dict) for case in cases):
        raise AnabranchError(f"{at}: claim ({claim.get('key')}): each: expected a list of tables, not {cases!r}")
    for case in cases:
        words = {key: value for key, value in case.items() if key not in CLAIM}
        own = {key: value for key, value in case.items() if key in CLAIM}
        text = {key: value for key, value in claim.items() if key != "each"}
        used: set[str] = set()
        one = _merged(_filled(text, words, used, f"{at}: claim ({claim.get('key')})"), own)
        if unused := set(words) - used:
            raise AnabranchError(f"{at}: claim ({claim.get('key')}): {min(unused)!r} is neither a key nor in its texts")
        made.append(one)
    return made


def _filled(value: Any, words: Mapping[str, Any], used: set[str], at: str) -> Any:  # noqa: ANN401 - as TOML has it
    if isinstance(value, dict):
        return {key: _filled(item, words, used, at) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, words, used, at) for item in value]
    if not isinstance(value, str):
        return value

    def word(match: re.Match[str]) -> str:
        if match[1] not in words:
            raise AnabranchError(f"{at}: a case lacks {match[1]!r}")
        used.add(match[1])
        return str(words[match[1]])

    whole = re.fullmatch(r"\{(\w+)\}", value)
    text = re.sub(r"\{(\w+)\}", word, value)
    return words[whole[1]] if whole else text


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
    """Find experiments by name, ``scdp/fig13``; a paper's name, ``scdp``, stands for all of its experiments.

    Returns
    -------
    tuple[Experiment, ...]
        Each once, in the order given.

    Raises
    ------
    AnabranchError
        If there is no such experiment; the hint says what was probably meant.
    """
    known = {one.name: (one,) for one in experiments()} | {one.name: of_paper(one.name) for one in papers()}
    found: dict[str, Experiment] = {}
    for name in names:
        wanted = name.strip("/")
        if wanted not in known:
            # `fig13` for `scdp/fig13`, and slips of the keyboard.
            ends = [one for one in known if one.partition("/")[2] == wanted]
            near = ends or difflib.get_close_matches(wanted, known, n=3, cutoff=0.6)
            hint = f"did you mean {' or '.join(near)}?" if near else "`anabranch reproduce --list` lists them"
            raise AnabranchError(f"no experiment is called {name!r}", hint=hint)
        found |= {one.name: one for one in known[wanted]}
    return tuple(found.values())
