"""Whether what an experiment's file says fits together: names of rows, series, functions, notes and explanations.

What does not fit is an `AnabranchError`: the message names file and key, the hint the nearest name.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from anabranch.base import bundle, styles
from anabranch.errors import AnabranchError
from anabranch.reproduce import prose, schema
from anabranch.reproduce.captions import placeholders
from anabranch.reproduce.looks import turns
from anabranch.reproduce.model import Experiment, PanelOf, Paper, SeriesOf
from anabranch.reproduce.rows import TABLES, expression, function
from anabranch.reproduce.schema import nearest, within

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from anabranch.reproduce.claims import Claim
    from anabranch.reproduce.model import Ranking, Shared

_, EXPERIMENT = bundle.ABOUT


def names(experiment: Experiment, file: Path) -> None:
    """Check the names in an experiment, and that its expressions are SQL."""
    check = _Experiment(experiment, file)
    if experiment.calculate:
        check.there("calculate", function, experiment.calculate)
    elif not experiment.quick:
        check.fail("quick", "the key is missing: settings of the quick size")
    check.rows()
    check.series()
    check.size()
    if experiment.ranking is not None:
        check.ranking(experiment.ranking)
    elif not experiment.figure:
        check.fail("figure", "the key is missing: expected figures, or a ranking")
    for figure in experiment.figure:
        for panel in figure.panel:
            check.panel(panel, f"figure {figure.number}, panel {panel.key or panel.kind}")
    for claim in experiment.claim:
        check.claim(claim, f"claim {claim.key}")
    check.prose()


def common(experiment: Experiment, paper: Paper, file: Path) -> None:
    """Check that its paper has the settings that a ranking names."""
    for name in experiment.ranking.common if experiment.ranking else ():
        _Experiment(experiment, file).known(name, paper.common, f"'common' of {paper.name}", "ranking: common")


def shared(paper: Paper, file: Path) -> None:
    """Check what a paper's experiments share, which uses nothing of theirs."""
    check = _Shared(paper, file)
    check.rows()
    check.series()
    check.prose()
    for name, panels in paper.panels.items():
        for place, panel in enumerate(panels):
            at = f"panels.{name}[{place}]"
            made = schema.part(PanelOf, panel, f"{file}: {at}")
            check.there(at, expression, *(made.get(key, "") for key in ("value", "condition")))
            check.there(f"{at}: caption", placeholders, made.get("caption", ""))


def references(experiment: Experiment, known: Sequence[Experiment], paper: Paper, file: Path) -> None:
    """Check that each text of an experiment is shown, and what it refers to there, which needs all experiments.

    Parameters
    ----------
    experiment, known
        The one to check, and all.
    paper, file
        Its paper, whose texts it has, too, and the file of that.
    """
    facts = prose.Facts(known, read={one.name: None for one in known})
    names, scenarios = [one.name for one in known], [one.file for one in known if one.file]
    own, shown, theirs = Path(f"{experiment.folder}/{EXPERIMENT}"), prose.shown(experiment), prose.texts(paper)
    for other in known:
        if other.paper == experiment.paper and other is not experiment:
            _Experiment(experiment, own).apart(other)
    for at, text in sorted(shown.items(), key=lambda one: one[0] not in theirs):
        check = _Experiment(experiment, file if at in theirs else own)
        check.there(at, partial(facts.text, experiment=experiment, missing=""), text)
        kind, _, name = at.partition(".")
        if kind == "explanation":
            listed = experiment.explanation[name].experiments
            for one in listed:
                check.known(one, names, "experiments", f"{at}: experiments")
            for one in prose.records(text):
                if one not in listed and one != experiment.name:
                    check.fail(f"{at}: experiments", f"its text shows what {one} recorded: expected {one!r} among them")
        for command, *_ in prose.commands(text):
            check.known(command, scenarios, "scenarios of experiments", at)
    for at in prose.texts(experiment):
        if at not in theirs and at not in shown:
            _Experiment(experiment, own).fail(at, "no notes and no claim lead to it: expected a text that is shown")


@dataclass(frozen=True, slots=True)
class _Shared:
    """Checks what papers and experiments have, both."""

    of: Shared
    file: Path

    def fail(self, at: str, message: str, hint: str | None = None) -> None:
        raise AnabranchError(f"{self.file}: {at}: {message}", hint=hint)

    def there(self, at: str, of: Callable[[str], object], *texts: str) -> None:
        """Each of these texts is an expression, or a function's name."""
        with within(f"{self.file}: {at}"):
            for text in filter(None, texts):
                of(text)

    def call(self, at: str, name: str, arguments: Mapping[str, object]) -> None:
        """There is such a function, which takes these arguments."""
        self.there(at, function, name)
        try:
            inspect.signature(function(name)).bind(None, **arguments)
        except TypeError as error:
            self.fail(at, f"{name}: {error}", f"it takes {inspect.signature(function(name))}")

    def known(self, name: str, of: Iterable[str], what: str, at: str) -> None:
        if name not in (of := list(of)):
            self.fail(at, f"{name!r} is not among the {what}", nearest(name, of))

    def source(self, name: str, at: str) -> None:
        if not (isinstance(self.of, Experiment) and self.of.calculate):  # its tables are known when they are made
            self.known(name, [*self.of.rows, *TABLES], "rows", at)

    def rows(self) -> None:
        for name, of in self.of.rows.items():
            at = f"rows.{name}"
            if "." in of.from_:
                self.call(at, of.from_, of.with_)
            else:
                self.source(of.from_, at)
                if of.with_:
                    self.fail(f"{at}.with", f"{of.from_!r} is no function: it takes no arguments")
            self.ends(name, {key: other.from_ for key, other in self.of.rows.items()}, f"{at}.from")
            for column, labels in of.names.items():
                if isinstance(labels, str):
                    place = f"{at}.names.{column}"
                    having = [key for key, other in self.of.rows.items() if column in other.names]
                    self.known(labels, having, f"rows that name {column!r}", place)
                    self.ends(name, {key: self.of.rows[key].names[column] for key in having}, place)
            self.there(at, expression, *of.columns.values(), of.condition, *of.values.values())
            if of.values and not of.by:
                self.fail(f"{at}.values", "there is no 'by': expected the columns that make a group")

    def ends(self, name: str, then: Mapping[str, object], at: str) -> None:
        """Rows that come from other rows do not come from themselves."""
        passed = [name]
        while isinstance(of := then.get(passed[-1]), str):
            if of in passed:
                self.fail(at, f"they come from themselves: {' from '.join([*passed, of])}")
            passed.append(of)

    def series(self) -> None:
        for name, entries in self.of.series.items():
            for place, of in enumerate(entries):
                self.entry(of, f"series.{name}[{place}]")

    def entry(self, of: SeriesOf, at: str) -> None:
        """An entry of series: nothing that it says is ignored, and it has a look."""
        if of.look is None and not of.transport and not of.column:
            self.fail(at, "expected 'transport', 'column' or 'look'")
        if of.transport:
            self.known(of.transport, styles.TRANSPORTS, "transports", f"{at}.transport")
        if isinstance(of.look, str):
            self.known(of.look, styles.TRANSPORTS, "looks", f"{at}.look")
        self.within(of.look if isinstance(of.look, int) else 0, len(styles.SPARE) - 1, f"{at}.look")
        self.within(of.turn, len(turns(of.transport)) if of.transport and not of.column else 0, f"{at}.turn")
        if of.column and (of.label or of.transport) and "{}" not in of.label:
            self.fail(f"{at}.label", f"expected a pattern with {{}} for the value of {of.column!r}, not {of.label!r}")
        if of.transport and of.column and len(of.values) > 1 + len(turns(of.transport)):
            self.fail(f"{at}.values", f"expected at most {1 + len(turns(of.transport))}: a look for each")
        ignored = [] if of.column else ["values", "labels", "sorted", "ramp"]
        ignored += ["labels", "sorted", "ramp"] if of.column and of.transport else []
        ignored += ["look"] if of.transport or of.ramp or (of.column and isinstance(of.look, str)) else []
        for key in ignored:
            if getattr(of, key) != getattr(SeriesOf(), key):
                self.fail(f"{at}.{key}", "it changes nothing here: expected no such key")

    def within(self, value: int, most: int, at: str) -> None:
        if not 0 <= value <= most:
            self.fail(at, f"expected 0 to {most}, not {value}")

    def prose(self) -> None:
        texts = {"notes": self.of.notes} if isinstance(self.of, Experiment) else {}
        texts |= {"summary": self.of.summary} if isinstance(self.of, Paper) else {}
        for at, text in {**texts, **prose.texts(self.of)}.items():
            self.there(at, prose.syntax, text)
            self.there(at, prose.commands, text)
            if typed := prose.typed(text):
                hint = "{claim:KEY}, {record:...}, {scenario:KEY}, {= EXPRESSION}, or {setting:...} for what others say"
                self.fail(at, f"the number {typed} is typed, expected a reference", hint)
            if (once := prose.once(text)) and not prose.commands(text):
                self.fail(
                    at, f"{once[0]} was measured once: by which command?", "`anabranch run scenarios/...` beside it"
                )
        for name, one in self.of.explanation.items():
            if one.kind == "measured" and not one.experiments:
                self.fail(f"explanation.{name}", "measured by which 'experiments' of ours?")


@dataclass(frozen=True, slots=True)
class _Experiment(_Shared):
    """Checks what an experiment has besides."""

    of: Experiment

    def panel(self, panel: PanelOf, at: str) -> None:
        self.source(panel.rows, at)
        self.known(panel.series, self.of.series, "series", at)
        self.there(at, expression, panel.value, panel.condition)
        if bool(panel.over) == (panel.kind in {"ranked", "cdf", "ccdf"}):
            self.fail(at, f"{panel.kind} {'has no' if panel.over else 'needs'} 'over'")
        self.there(f"{at}: caption", placeholders, panel.caption)
        if panel.each and not panel.key:
            self.fail(f"{at}: each", "the key 'key' is missing: expected a letter for each panel")

    def ranking(self, ranking: Ranking) -> None:
        self.there("ranking: setting", placeholders, ranking.setting)
        for one in ranking.home:
            self.known(one, styles.TRANSPORTS, "transports", "ranking: home")

    def size(self) -> None:
        """What is reduced is smaller than the paper's, and the scenario says by how much where it has a key for it."""
        if (of := self.of.reduced) is None:
            return
        if bool(of.key) == bool(of.here):
            self.fail("reduced", "expected either 'key', of the scenario, or 'here'")
        with within(f"{self.file}: reduced: key"):
            here = self.of.setting(of.key) if of.key else of.here
            if of.key and self.of.sweeps(of.key):
                raise AnabranchError(f"{of.key} is swept: expected 'here'")
        if type(here) is not int or not 0 < here < of.paper:
            self.fail("reduced", f"{here} {of.of} are not fewer than the paper's {of.paper}")

    def apart(self, other: Experiment) -> None:
        """Another experiment draws other figures, or other panels of the same; a figure without panels is all of it."""
        theirs = [(figure, key) for figure in other.figure for key in figure.keys]
        for mine in self.of.figure:
            for key, (figure, panel) in product(mine.keys, theirs):
                if figure.number == mine.number and (key == panel or not key or not panel):
                    self.fail(
                        f"figure {mine.number}", f"{key or panel or mine.number!r} is one of {other.name} already"
                    )

    def claim(self, claim: Claim, at: str) -> None:
        if [one.key for one in self.of.claim].count(claim.key) > 1:
            self.fail(at, "there is another claim of this key")
        if bool(claim.function) == bool(claim.rows and claim.value):
            self.fail(at, "expected either 'rows' and 'value' or 'function'")
        if not (bool(claim.compare) == bool(claim.above) == bool(claim.below)):
            self.fail(at, "'compare', 'above' and 'below' go together")
        for key, number in (("paper", claim.paper), ("tolerance", claim.tolerance)):
            if not math.isfinite(number) or (key == "tolerance" and number < 0):
                self.fail(
                    f"{at}: {key}", f"expected a number{' of 0 or more' if key == 'tolerance' else ''}, not {number}"
                )
        for key in ("filter", "condition", "compare", "rows", "value"):
            if claim.function and getattr(claim, key):
                self.fail(f"{at}: {key}", f"{claim.function} takes no such thing: expected 'with'")
        if claim.with_ and not claim.function:
            self.fail(f"{at}: with", "there is no 'function' that takes it")
        if claim.rows:
            self.source(claim.rows, at)
        if claim.function:
            self.call(at, claim.function, claim.with_)
        self.there(at, expression, claim.value, claim.condition)
        if claim.explanation:
            self.known(claim.explanation, self.of.explanation, "explanations", at)
