"""What an experiment is, as ``experiment.toml`` says it: rows of its results, figures, claims, and explanations.

``docs/reference/experiments.md`` says what each key means. Everything here is data: `anabranch.reproduce.rows` makes
rows and numbers of results, `anabranch.reproduce.drawing` figures, `anabranch.reproduce.claims` judges the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from anabranch.errors import AnabranchError
from anabranch.reproduce.claims import Claim  # noqa: TC001 - `anabranch.reproduce.schema` reads it
from anabranch.reproduce.schema import load, nearest
from anabranch.showing.figures import Axis, published

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anabranch.results.manifest import Manifest, RunEntry

Filter = Mapping[str, object]
"""Column to value, or to a list of values."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of results: where they come from, then the keys in the order in which they apply."""

    from_: str
    with_: Mapping[str, object] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[str, Mapping[str, Filter] | str] = field(default_factory=dict)
    filter: Filter = field(default_factory=dict)
    condition: str = ""
    by: tuple[str, ...] = ()
    values: Mapping[str, str] = field(default_factory=dict)
    sort: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SeriesOf:
    """What a panel compares: transports, the values of a column, or rows with a label and a look."""

    transport: str = ""
    label: str = ""
    filter: Filter = field(default_factory=dict)
    turn: int = 0
    column: str = ""
    values: tuple[object, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    sorted: bool = False
    look: str | int | None = None
    ramp: bool = False


PanelKind = Literal["means", "bars", "stacked", "curve", "ranked", "cdf", "ccdf"]


@dataclass(frozen=True, slots=True)
class PanelOf:
    """A panel of a figure."""

    kind: PanelKind
    rows: str
    series: str
    value: str
    y: Axis | str = ""
    x: Axis | str = ""
    over: str = ""
    filter: Filter = field(default_factory=dict)
    condition: str = ""
    key: str = ""
    caption: str = ""
    each: tuple[str, ...] = ()
    sorted: bool = False
    seed: Literal["", "first"] = ""

    @property
    def keys(self) -> Sequence[str]:
        """Its letter, or those of the panels that it stands for."""
        return self.key if self.each else (self.key,)


@dataclass(frozen=True, slots=True)
class FigureOf:
    """A figure: its number, what it shows, its panels; `whole` if their letters are ours."""

    number: str
    caption: str
    panel: tuple[PanelOf, ...]
    columns: int | None = None
    whole: bool = False

    @property
    def keys(self) -> list[str]:
        """The letters of its panels; empty for one that has none."""
        return [key for panel in self.panel for key in panel.keys]

    @property
    def parts(self) -> list[str]:
        """Itself, or its panels where the paper has letters for them: ``5a``, ``k16``."""
        keys = self.keys
        lettered = published(self.number) and not self.whole and all(len(key) == 1 for key in keys)
        return [f"{self.number}{key}" for key in (keys if lettered else [""])]


ExplanationKind = Literal["measured", "arithmetic", "the paper does not say", "not explained"]
"""Three kinds, and texts that say what is known where nothing explains the deviation."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a number differs; every number in `text` is a reference (`anabranch.reproduce.prose`)."""

    kind: ExplanationKind
    text: str
    experiments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reduced:
    """The full size is smaller than the paper's: of how many `paper` has, the scenario's `key` says how many there are.

    Without a `key` it is `here` that says so.
    """

    of: str
    paper: int
    key: str = ""
    here: int = 0


@dataclass(frozen=True, slots=True)
class Ranking:
    """Transports beside each other in every setting of a scenario: an experiment without claims of a paper.

    Attributes
    ----------
    setting
        What a setting is called: ``{KEY}`` is the value of a key that the scenario sweeps. A setting has one run for
        each transport and seed.
    common
        Settings of `Paper.common`, by name, that replace those of the scenario, in order.
    by
        The measure that decides, of `anabranch.reproduce.measures`, over flows of all sizes.
    home
        Transports that were made for such a setting.
    """

    setting: str
    common: tuple[str, ...]
    by: Literal["p50", "p99", "goodput"] = "p99"
    home: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shared:
    """What the experiments of a paper may use: ``paper.toml``."""

    rows: Mapping[str, Rows] = field(default_factory=dict)
    series: Mapping[str, tuple[SeriesOf, ...]] = field(default_factory=dict)
    note: Mapping[str, str] = field(default_factory=dict)
    explanation: Mapping[str, Explanation] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper(Shared):
    """A paper whose evaluation is reproduced.

    Attributes
    ----------
    order, short, reference
        Its place among the papers, its short name, and where it was published.
    summary
        What came out, in ten lines: the head of its page. Its references name experiments.
    sections
        What the sections of its page are about, by the `section` of their experiments.
    panels
        Panels that figures name.
    common
        Settings of scenarios that rankings name.
    """

    order: float
    short: str
    reference: str
    summary: str = ""
    sections: Mapping[str, str] = field(default_factory=dict)
    panels: Mapping[str, tuple[Mapping[str, object], ...]] = field(default_factory=dict)
    common: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    name: str = field(default="", metadata={"derived": True})

    @property
    def ranks(self) -> bool:
        """Whether it is no paper: its experiments rank transports, as `anabranch.reproduce.ranking` shows them."""
        return bool(self.common)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment(Shared):
    """An experiment of a paper: a folder ``scenarios/PAPER/NAME`` with ``experiment.toml`` and ``NAME.toml``.

    Attributes
    ----------
    variant
        Whether its settings are not the paper's.
    common
        Settings that replace those of the scenario in both sizes: what its `ranking` names.
    name, folder
        Paper and folder, as on the command line: ``scdp/fig13``; and where that is.
    """

    title: str
    question: str
    section: str
    order: float
    figure: tuple[FigureOf, ...] = ()
    ranking: Ranking | None = None
    claim: tuple[Claim, ...] = ()
    quick: tuple[str, ...] = ()
    notes: str = ""
    calculate: str = ""
    open_ended: bool = False
    variant: bool = False
    reduced: Reduced | None = None
    common: tuple[str, ...] = field(default=(), metadata={"derived": True})
    name: str = field(default="", metadata={"derived": True})
    folder: Path | None = field(default=None, metadata={"derived": True})

    def overrides(self, *, quick: bool) -> tuple[str, ...]:
        """The settings that replace those of its scenario."""
        return (*self.common, *(self.quick if quick else ()))

    @property
    def smaller(self) -> str:
        """How its full size is smaller than the paper's, ``500 of 2000 sessions``; empty if it is not.

        Raises
        ------
        AnabranchError
            If its scenario does not have the key that says so.
        """
        if self.reduced is None:
            return ""
        here = self.setting(self.reduced.key) if self.reduced.key else self.reduced.here
        return f"{here} of {self.reduced.paper} {self.reduced.of}"

    @property
    def size(self) -> str:
        """The full size, in words."""
        return f"reduced: {self.smaller}" if self.reduced else "full size"

    def incomplete(self, manifest: Manifest) -> tuple[RunEntry, ...]:
        """Runs that did not complete although they should have."""
        return tuple(run for run in manifest.incomplete if not (self.open_ended and run.status == "time_limit"))

    @property
    def figures(self) -> tuple[str, ...]:
        """The figures, or parts of figures, that it draws."""
        return tuple(part for figure in self.figure for part in figure.parts)

    @property
    def explained(self) -> dict[str, Explanation]:
        """The explanations that its claims have."""
        return {one.explanation: self.explanation[one.explanation] for one in self.claim if one.explanation}

    @property
    def paper(self) -> str:
        """The paper's name, the part before the slash."""
        return self.name.partition("/")[0]

    @property
    def own(self) -> bool:
        """Whether none of its figures is a paper's."""
        return not any(map(published, self.figures))

    @property
    def file(self) -> str:
        """Its scenario file, relative to the repository; empty if it is a calculation."""
        return "" if self.calculate else f"scenarios/{self.name}/{self.name.partition('/')[2]}.toml"

    @property
    def scenario(self) -> dict[str, Any]:
        """What its scenario says; nothing if it is a calculation."""
        if self.folder is None or self.calculate:
            return {}
        file = self.folder / f"{self.folder.name}.toml"
        return _read(file, file.stat().st_mtime_ns if file.is_file() else 0)

    def setting(self, key: str) -> Any:  # noqa: ANN401 - text, number, list or table
        """What its scenario says: ``fabric.rate``, ``workload.NAME.sessions``, ``controller.0.upper``.

        Raises
        ------
        AnabranchError
            If the scenario does not have the key; the hint names the nearest.
        """
        found = None
        for part, known in self._steps(key):
            if part not in known:
                of = self.file or "a calculation, without scenario,"
                raise AnabranchError(f"{of} has no key {key!r}", hint=nearest(part, known))
            _, found = known[part]
        return found

    def _steps(self, key: str) -> Iterator[tuple[str, Mapping[str, tuple[str, Any]]]]:
        """The parts of a key, each with what there is in its place."""
        value: Any = self.scenario
        for part in key.split("."):
            known = _items(value)
            yield part, known
            _, value = known.get(part, (part, None))

    def _path(self, key: str) -> tuple[str, ...]:
        """The parts of a key, where an item of a list goes by its name if it has one."""
        return tuple(known.get(part, (part, None))[0] for part, known in self._steps(key))

    def sweeps(self, key: str) -> str:
        """The key that its scenario sweeps and that changes this one: itself, a table it is in, or a part of it."""
        path, paths = self._path(key), {swept: self._path(swept) for swept in self.swept()}
        changes = (swept for swept, other in paths.items() if other[: len(path)] == path[: len(other)])
        return next(changes, "")

    def swept(self) -> dict[str, list[Any]]:
        """The keys that its scenario sweeps, with their values."""
        columns: dict[str, list[Any]] = {}
        try:
            for keys, values in self.scenario.get("sweep", {}).items():
                names = [key.strip() for key in keys.split(",")]
                rows = values if len(names) > 1 else [[value] for value in values]
                columns |= {name: [row[place] for row in rows] for place, name in enumerate(names)}
        except (AttributeError, IndexError, KeyError, TypeError) as error:
            raise AnabranchError(f"{self.file}: sweep: expected keys with lists of values") from error
        return columns

    def values(self, key: str) -> dict[str, Any]:
        """What its scenario sweeps for a key, or the one value that it has: as people write it, and as it is.

        Raises
        ------
        AnabranchError
            If the scenario does not have the key, or sweeps a table that it is in.
        """
        of, swept = self.sweeps(key), self.swept()
        if of and self._path(of) != self._path(key):
            raise AnabranchError(f"{key} has no values of its own: it is swept with {of}")
        return {quantity(value): value for value in (swept[of] if of else [self.setting(key)])}


def quantity(value: object) -> str:
    """Write a value of a scenario as people do.

    Examples
    --------
    >>> quantity("70KB"), quantity("10us"), quantity("20 packets"), quantity("unlimited"), quantity(0.8)
    ('70 KB', '10 µs', '20 packets', 'unlimited', '0.8')
    """
    found = re.fullmatch(r"([\d.]+)\s*([A-Za-z]+)", str(value))
    return f"{found[1]} {'µs' if found[2] == 'us' else found[2]}" if found else str(value)


def _items(value: object) -> Mapping[str, tuple[str, Any]]:
    """What a table or a list holds, by key: its name, and itself. Items of a list have a place, and may have a name."""
    if isinstance(value, dict):
        return {key: (key, one) for key, one in value.items()}
    if not isinstance(value, list):
        return {}
    names = [str(one.get("name", place)) if isinstance(one, dict) else str(place) for place, one in enumerate(value)]
    named = list(zip(names, value, strict=True))
    return {str(place): one for place, one in enumerate(named)} | {one[0]: one for one in named}


@cache
def _read(file: Path, changed: int) -> dict[str, Any]:  # noqa: ARG001 - read again when the file is another
    return load(file)
