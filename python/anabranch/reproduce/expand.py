"""Short forms of ``experiment.toml``: panels that share what their figure says, and claims that differ in a few words.

What a figure says of panels (``kind``, ``rows``, ``x`` ...) holds for each of its panels that does not say otherwise; a
figure without panels is one, and one whose ``panel`` is a text has the panels of that name of its paper. A claim with
``each`` stands for several: a case replaces keys of the claim, and what else it says fills ``{name}`` in the claim's
texts and filters, where a whole value keeps its type.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from anabranch.errors import AnabranchError
from anabranch.reproduce.claims import Claim
from anabranch.reproduce.model import FigureOf, PanelOf
from anabranch.reproduce.schema import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

OWN = {one.name for one in fields(FigureOf)}
PANEL = {one.name for one in fields(PanelOf)} - OWN
CLAIM = {one.name.rstrip("_") for one in fields(Claim)}


def expanded(data: dict[str, Any], at: str, panels: Mapping[str, Sequence[Mapping[str, object]]]) -> dict[str, Any]:
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
            raise AnabranchError(f"{where}: the paper has no panels {panels!r}", hint=nearest(panels, named))
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
