"""Prose whose numbers are references, so that they follow what was recorded.

In braces stand ``claim:KEY`` (our number), ``paper:KEY`` (the paper's), ``record:FIGURE/PANEL:SERIES@X`` (a point of a
recorded figure), ``interval:`` with the same (its confidence interval), ``scenario:KEY`` (a setting) and
``scenario:KEY=VALUE`` (one of those that it sweeps), each with ``EXPERIMENT#`` before it if it is another one's, and
``=`` with an arithmetic expression of such references, ``exp(-3 * 6000 / 175)`` or ``100 * claim("a") / paper("a")``,
where ``claim("a-*")`` is a list of those that match. A format may follow: ``{claim:KEY|.2f}``. Two kinds are shown as
they stand: ``setting:NUMBER`` for what a paper or another source says and no scenario does, and ``once:NUMBER`` for
what was measured by a command in the text and not recorded. ``note:NAME`` and ``explanation:NAME`` are texts of the
same file or its paper's.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anabranch.base import bundle
from anabranch.errors import AnabranchError
from anabranch.reproduce import record
from anabranch.reproduce.arithmetic import NUMBER, NUMBERS, calls, computed
from anabranch.reproduce.model import Paper, quantity
from anabranch.reproduce.numbers import formatted
from anabranch.reproduce.schema import nearest, within

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anabranch.reproduce.claims import Claim
    from anabranch.reproduce.model import Experiment, Shared
    from anabranch.reproduce.record import Record

REFERENCE = re.compile(r"\{(=|[a-z]+:)\s*([^{}|]*)(?:\|([^{}]*))?\}")
PLACE = r"(?:§|Figs?\.|Figures?|Tables?|Theorems?|Lemmas?|Conjectures?|Eqs?\.|Rows?|rows?|chapters?|levels?|RFC)"
NAME = re.compile(
    rf"`[^`]*`|{PLACE}\s?[\dIVX][\w.-]*(?:(?:,| and| to|, and)\s§?\d[\w.-]*)*|"
    r"\(\d+\.\d+\)|\b\d+th\b|[A-Z]\w*\(\d+(?:, \d+)*\)|\b[a-z]+-\d+\b|[A-Za-z]\w*\d\w*"
)
"""Digits that are no numbers: code, places in a paper, ordinals, names."""
SHOWN = ("setting", "once")
TEXTS = (*SHOWN, "note", "explanation")
"""Kinds of references besides those to numbers: to numbers that stand in them, and to texts."""
QUANTITY = re.compile(rf"{NUMBER.pattern}(?: ?[A-Za-zµ][A-Za-z/]*)?")
"""A number that may have a unit."""
DEPTH = 8
"""Texts within texts."""
LENGTH = 20_000
"""Most characters of a text and all that it includes."""


def typed(text: str) -> str:
    """The first number in a text that is no reference; empty if there is none.

    Examples
    --------
    >>> typed("The window of {scenario:window} fills it (§V-A, Figure 8a, `k=4`)."), typed("It is 12 packets.")
    ('', '12')
    """
    found = re.search(r"\d[\d.]*", NAME.sub("", REFERENCE.sub("", text)))
    return found[0] if found else ""


class NotRecorded(AnabranchError):  # noqa: N818 - a state, not a mistake
    """A number that will be there when its experiment is recorded, or recorded again."""


def parts(match: re.Match[str]) -> tuple[str, str, str]:
    """Kind, target and format of a reference."""
    return match[1].rstrip(":"), " ".join(match[2].split()), match[3] or ""


@cache
def syntax(text: str) -> None:
    """Check what a text says in braces as far as the text alone tells: kinds, formats, arithmetic.

    Raises
    ------
    AnabranchError
        If something in braces is no reference.
    """
    if wrong := re.search(r".{0,20}[{}].{0,20}", REFERENCE.sub("", text)):
        raise AnabranchError(f"{wrong[0].strip()!r} is no reference", hint="{KIND:KEY}, or {= EXPRESSION}")
    for match in REFERENCE.finditer(text):
        kind, target, form = parts(match)
        with within(match[0]):
            _known(dict.fromkeys([*NUMBERS, *TEXTS, "interval", "="]), kind, "reference")
            if kind in SHOWN and not QUANTITY.fullmatch(target):
                raise AnabranchError("expected one number, with its unit if it has one")
            if kind in TEXTS and match[3] is not None:
                raise AnabranchError("it is shown as it stands: expected no format")
            formatted(0, form)
            if kind == "=":
                calls(target)


def texts(of: Shared) -> dict[str, str]:
    """Notes and explanations by key."""
    notes = {f"note.{name}": text for name, text in of.note.items()}
    return notes | {f"explanation.{name}": one.text for name, one in of.explanation.items()}


def shown(experiment: Experiment) -> dict[str, str]:
    """The texts of an experiment that are shown, by key: notes, its claims' explanations, and what these include."""
    found = {"notes": experiment.notes} | {
        f"explanation.{name}": one.text for name, one in experiment.explained.items()
    }
    having, waiting = texts(experiment), list(found.values())
    while waiting:
        keys = {f"{kind}.{target}" for kind, target in references(waiting.pop())} & (having.keys() - found.keys())
        found |= {key: having[key] for key in sorted(keys)}
        waiting += [having[key] for key in keys]
    return found


COMMAND = re.compile(r"`anabranch run (\S[^`]*)`")


def references(text: str) -> list[tuple[str, str]]:
    """The references in a text, those of its arithmetic included: kind and what each refers to."""
    found = [parts(match)[:2] for match in REFERENCE.finditer(text)]
    return found + [one for kind, target in found if kind == "=" for one in calls(target)]


def once(text: str) -> list[str]:
    """The numbers in a text that were measured and not recorded."""
    return list(dict.fromkeys(target for kind, target in references(text) if kind == "once"))


def records(text: str) -> list[str]:
    """The other experiments whose records a text shows."""
    found = (target.rpartition("#")[0] for kind, target in references(text) if kind in {"claim", "record", "interval"})
    return list(dict.fromkeys(filter(None, found)))


def commands(text: str) -> list[list[str]]:
    """The commands in a text that measure something: file and settings.

    Raises
    ------
    AnabranchError
        If a quotation mark is missing.

    Examples
    --------
    >>> commands("It is less (`anabranch run scenarios/a/b/b.toml fabric.k=4 switch.buffer='20 packets'`).")
    [['scenarios/a/b/b.toml', 'fabric.k=4', 'switch.buffer=20 packets']]
    """
    try:
        return [shlex.split(found) for found in COMMAND.findall(" ".join(text.split()))]
    except ValueError as error:
        raise AnabranchError(f"anabranch run: {error}") from error


def without(text: str, kind: str) -> str:
    """A text without its references of a kind.

    Examples
    --------
    >>> without("The sizes. {explanation:links}", "explanation")
    'The sizes. '
    """
    return REFERENCE.sub(lambda match: "" if parts(match)[0] == kind else match[0], text)


def divided(text: str) -> list[str]:
    """A text divided into the notes that it includes, which others may include, too, and what is its own.

    Examples
    --------
    >>> divided("Buffers are ours. {note:load}")
    ['Buffers are ours.', '{note:load}']
    """
    ends = [0, *(end for match in REFERENCE.finditer(text) if parts(match)[0] == "note" for end in match.span())]
    found = [text[start:end].strip() for start, end in pairwise([*ends, len(text)])]
    return [part for part in found if part]


def whole(text: str, of: Shared, depth: int = 0) -> str:
    """A text with the notes and explanations that it includes."""
    syntax(text)

    def included(match: re.Match[str]) -> str:
        kind, target, _ = parts(match)
        if kind not in {"note", "explanation"}:
            return match[0]
        if depth == DEPTH:
            raise AnabranchError(f"{match[0]} includes itself")
        found = _known(getattr(of, kind), target, kind)
        return whole(found if kind == "note" else found.text, of, depth + 1)

    made = REFERENCE.sub(included, text)
    if len(made) > LENGTH:
        raise AnabranchError(f"{text[:40]}...: expected at most {LENGTH} characters in all")
    return made


@dataclass(slots=True)
class Facts:
    """What references refer to.

    Attributes
    ----------
    experiments
        All that can be named.
    root
        The repository below which their records are; None: those of the package.
    read
        Records that were read, by experiment; None: it has none.
    """

    experiments: Sequence[Experiment]
    root: Path | None = None
    read: dict[str, Record | None] = field(default_factory=dict)

    def text(self, text: str, experiment: Experiment | Paper, *, missing: str | None = None) -> str:
        """Put what they refer to in the place of references, and `missing` in that of what is not recorded.

        A paper's own text has nothing that is recorded: its references name experiments.

        Raises
        ------
        AnabranchError
            If one refers to nothing, or to what is not recorded and nothing stands in for it.
        """
        with within(experiment.name):
            return REFERENCE.sub(lambda match: self._shown(match, experiment, missing), whole(text, experiment))

    def _shown(self, match: re.Match[str], experiment: Experiment | Paper, missing: str | None) -> str:
        kind, target, form = parts(match)
        if kind in SHOWN:
            return target
        try:
            with within(match[0]):
                if kind == "=":
                    return formatted(self._evaluate(target, experiment), form)
                value = self._find(kind, target, experiment)
                if kind == "interval":
                    return " to ".join(formatted(value(end), form) for end in ("low", "high"))
                found = value()
                return quantity(found) if kind == "scenario" and not form else formatted(found, form)
        except NotRecorded:
            if missing is None:
                raise
            return missing

    def record(self, name: str) -> Record:
        """The record of an experiment."""
        if name not in self.read:
            file = bundle.locate(record.path(Path(), name)) if self.root is None else record.path(self.root, name)
            self.read[name] = record.read(file) if file else None
        found = self.read[name]
        if found is None:
            raise NotRecorded(f"{name} is not recorded")
        return found

    def _find(self, kind: str, target: str, experiment: Experiment | Paper) -> Callable[..., Any]:
        """What a reference is to, which must be there; its value is asked for by a call, as it may not be recorded."""
        if kind == "once":
            return partial(float, target)
        name, _, key = target.rpartition("#")
        if name:
            of: Experiment = _known({one.name: one for one in self.experiments}, name, "experiment")
        elif isinstance(experiment, Paper):
            raise AnabranchError("of which experiment?", hint="a paper's own text has EXPERIMENT#KEY")
        else:
            of = experiment
        if kind == "scenario":
            setting = self._setting(key, of)
            return lambda: setting
        if kind == "claim" and "*" in key:
            keys = [one.key for one in of.claim if fnmatchcase(one.key, key)]
            if not keys:
                raise AnabranchError(f"no claims are called {key!r}", hint=nearest(key, [one.key for one in of.claim]))
            return lambda: [self._mean(of.name, one) for one in keys]
        if kind in {"claim", "paper"}:
            claim: Claim = _known({one.key: one for one in of.claim}, key, "claim")
            return (lambda: claim.paper) if kind == "paper" else partial(self._mean, of.name, key)
        number, _, letter = key.partition(":")[0].partition("/")
        figure = _known({one.number: one for one in of.figure}, number, "figure")
        _known(dict.fromkeys(figure.keys), letter, f"panel of figure {number}")
        return partial(self._point, of.name, key)

    def _mean(self, name: str, key: str) -> float:
        measured = self.record(name).claims.get(key)
        if measured is None or measured.mean is None:
            raise NotRecorded(f"{name} has not measured {key}")
        return measured.mean

    @staticmethod
    def _setting(target: str, of: Experiment) -> Any:  # noqa: ANN401 - a number or a text
        key, given, value = target.partition("=")
        if not given and (swept := of.sweeps(key)):
            one = next(iter(of.swept()[swept]), None)
            hint = f"one of its values, {swept}={quantity(one)}" if isinstance(one, str | int | float) else None
            raise AnabranchError(f"it is swept: {swept}", hint=hint)
        found = _known(of.values(key), value, f"value of {key}") if given else of.setting(key)
        if type(found) not in {str, int, float}:
            raise AnabranchError(f"expected a number or a text, not {str(found)[:40]}")
        return found

    def _point(self, name: str, target: str, column: str = "y") -> Any:  # noqa: ANN401 - a number or a list
        place, _, line = target.partition(":")
        number, _, key = place.partition("/")
        line, _, x = line.rpartition("@") if "@" in line else (line, "", "")
        figures = self.record(name).figures
        panels = {(one["figure"], panel["panel"]): panel["series"] for one in figures for panel in one["panels"]}
        if (number, key) not in panels:
            raise NotRecorded("no such panel", hint=nearest(place, ["/".join(one) for one in panels]))
        points = _known(panels[number, key], line, "series", NotRecorded)
        values = _known(points, column, "column", NotRecorded)
        return _known(dict(zip(map(str, points["x"]), values, strict=True)), x, "point", NotRecorded) if x else values

    def _evaluate(self, text: str, experiment: Experiment | Paper) -> float:
        found = {one: self._find(*one, experiment) for one in calls(text)}
        for (kind, target), of in found.items():
            if kind == "scenario" and isinstance(said := of(), str):
                raise AnabranchError(f"not arithmetic: {target} is {said!r}")
        return computed(text, lambda kind, target: found[kind, target]())


def _known(of: Mapping[str, Any], name: str, what: str, error: type[AnabranchError] = AnabranchError) -> Any:  # noqa: ANN401 - what the mapping holds
    if name not in of:
        raise error(f"no {what} is called {name!r}", hint=nearest(name, of))
    return of[name]
