"""Whether what an experiment's file says fits together: names of rows, series, functions, notes and explanations."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anabranch.errors import AnabranchError
from anabranch.reproduce import prose
from anabranch.reproduce.rows import TABLES, expression, function
from anabranch.reproduce.schema import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from anabranch.reproduce.claims import Claim
    from anabranch.reproduce.model import Experiment, PanelOf


def names(experiment: Experiment, file: Path) -> None:
    """Check the names in an experiment, and that its expressions are SQL.

    Raises
    ------
    AnabranchError
        If one does not fit; the message names file and key, the hint the nearest name.
    """
    check = _Check(experiment, file)
    if experiment.calculate:
        check.there("calculate", function, experiment.calculate)
    elif not experiment.quick:
        check.fail("quick", "the key is missing: settings of the quick size")
    check.rows()
    for figure in experiment.figure:
        for panel in figure.panel:
            check.panel(panel, f"figure {figure.number}, panel {panel.key or panel.kind}")
    for claim in experiment.claim:
        check.claim(claim, f"claim {claim.key}")
    check.explanations()


@dataclass(frozen=True, slots=True)
class _Check:
    experiment: Experiment
    file: Path

    def fail(self, at: str, message: str, hint: str | None = None) -> None:
        raise AnabranchError(f"{self.file}: {at}: {message}", hint=hint)

    def there(self, at: str, of: Callable[[str], object], *texts: str) -> None:
        """Each of these texts is an expression, or a function's name."""
        for text in filter(None, texts):
            try:
                of(text)
            except AnabranchError as error:
                self.fail(at, error.message, error.hint)

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
        if not self.experiment.calculate:  # its tables are known when they are made
            self.known(name, [*self.experiment.rows, *TABLES], "rows", at)

    def rows(self) -> None:
        for name, of in self.experiment.rows.items():
            at = f"rows.{name}"
            if "." in of.from_:
                self.call(at, of.from_, of.with_)
            else:
                self.source(of.from_, at)
            self.there(at, expression, *of.columns.values(), of.condition, *of.values.values())
            if of.values and not of.by:
                self.fail(f"{at}.values", "there is no 'by': expected the columns that make a group")

    def panel(self, panel: PanelOf, at: str) -> None:
        self.source(panel.rows, at)
        self.known(panel.series, self.experiment.series, "series", at)
        self.there(at, expression, panel.value, panel.condition)
        if bool(panel.over) == (panel.kind in {"ranked", "cdf", "ccdf"}):
            self.fail(at, f"{panel.kind} {'has no' if panel.over else 'needs'} 'over'")
        if panel.each and not panel.key:
            self.fail(f"{at}: each", "the key 'key' is missing: expected a letter for each panel")

    def claim(self, claim: Claim, at: str) -> None:
        if [one.key for one in self.experiment.claim].count(claim.key) > 1:
            self.fail(at, "there is another claim of this key")
        if bool(claim.function) == bool(claim.rows and claim.value):
            self.fail(at, "expected either 'rows' and 'value' or 'function'")
        if not (bool(claim.compare) == bool(claim.above) == bool(claim.below)):
            self.fail(at, "'compare', 'above' and 'below' go together")
        if claim.rows:
            self.source(claim.rows, at)
        if claim.function:
            self.call(at, claim.function, claim.with_)
        self.there(at, expression, claim.value, claim.condition)
        if claim.explanation:
            self.known(claim.explanation, self.experiment.explanation, "explanations", at)

    def explanations(self) -> None:
        for name, explanation in self.experiment.explanation.items():
            at = f"explanation.{name}"
            for text in (explanation.text, *prose.notes(explanation.text, self.experiment)):
                if typed := prose.typed(text):
                    hint = "{claim:KEY}, {record:...}, {= EXPRESSION}, or {setting:...} for what is not measured"
                    self.fail(at, f"the number {typed} is typed, expected a reference", hint)
            if explanation.kind == "measured" and not explanation.experiments:
                self.fail(at, "measured by which 'experiments' of ours?")
