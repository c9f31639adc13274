"""What is kept of an experiment: the claims' values, the figures' points, and, apart from them, how long the runs took.

``docs/fidelity/data/PAPER/FIGURE.json`` holds only what is the same on every machine, so that a second recording of
the same version changes nothing; ``FIGURE.cost.json`` beside it holds seconds (``docs/reference/records.md``).
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from anabranch.base import targets
from anabranch.errors import AnabranchError
from anabranch.reproduce import measures, versions
from anabranch.reproduce.claims import Measured, measure
from anabranch.showing.curves import evenly

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anabranch.reproduce.model import Experiment
    from anabranch.reproduce.rows import Source
    from anabranch.showing.figures import Figure, Panel

SCHEMA = 1
"""Version of the record format."""

POINTS = 60
"""Most points of a curve in a record."""


@dataclass(frozen=True, slots=True)
class Record:
    """An experiment's outcome, as ``docs/reference/records.md`` has it; `scenario` is its `fingerprint`."""

    experiment: str
    quick: bool
    seeds: tuple[int, ...]
    scenario: str
    version: str
    incomplete: int
    claims: Mapping[str, Measured]
    figures: Sequence[Mapping[str, Any]] = field(default=())
    settings: Sequence[Mapping[str, Any]] = field(default=())
    commit: str | None = None
    model: int | None = None
    parts: Mapping[str, int] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the record as JSON values."""
        # What was calculated is compared exactly.
        digits = 6 if self.seeds else 12
        return {
            "schema": SCHEMA,
            "experiment": self.experiment,
            "size": "quick" if self.quick else "full",
            "seeds": list(self.seeds),
            "scenario": self.scenario,
            "version": self.version,
            "commit": self.commit,
            "model": self.model,
            **({} if self.parts is None else {"parts": dict(sorted(self.parts.items()))}),
            "incomplete_runs": self.incomplete,
            "claims": {
                key: {
                    "values": {str(seed): _short(value, digits) for seed, value in measured.values.items()},
                    "mean": _short(measured.mean, digits),
                    "ci": _short(measured.ci, digits),
                }
                for key, measured in self.claims.items()
            },
            "figures": list(self.figures),
            **({"settings": list(self.settings)} if self.settings else {}),
        }


def fingerprint(experiment: Experiment, text: str, *, quick: bool) -> str:
    """Hash of what a scenario says (not of how it is written), and of the settings that replace it.

    The scenario's text is empty for a calculation; the hash has 16 hexadecimal digits.
    """
    content = {key: value for key, value in tomllib.loads(text).items() if key not in {"name", "description"}}
    data = {"scenario": content, "quick": list(experiment.quick) if quick else []}
    data |= {"common": list(experiment.common)} if experiment.common else {}
    canonical = json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def make(source: Source, figures: Sequence[Figure], *, quick: bool) -> Record:
    """Take an experiment's record from its results, which the installed simulator made."""
    experiment, manifest = source.experiment, source.results.manifest
    now = versions.now(experiment, quick=quick)
    return Record(
        experiment=experiment.name,
        quick=quick,
        seeds=manifest.seeds,
        scenario=fingerprint(experiment, manifest.scenario_toml, quick=quick),
        version=manifest.version,
        incomplete=len(experiment.incomplete(manifest)),
        claims={claim.key: measure(source.measure(claim), source.results) for claim in experiment.claim},
        model=now.model if now else None,
        parts=now.parts if now else None,
        figures=[
            {"figure": figure.number, "panels": [_panel(panel, named=not experiment.claim) for panel in figure.panels]}
            for figure in figures
        ],
        settings=measures.as_json(measures.measured(source.results, experiment)) if experiment.ranking else (),
    )


def _panel(panel: Panel, *, named: bool) -> dict[str, Any]:
    """The points of a panel; `named`: and its words, for a page that shows them as a table."""
    series = {}
    for one in panel.series:
        rows = panel.data.filter(panel.data["series"] == one.label)
        known = [name for name in ("x", "y", "low", "high") if rows[name].null_count() < rows.height]
        if panel.kind in {"curves", "steps"} and rows.height > POINTS:
            rows = rows[evenly(rows.height, POINTS)]
        series[one.label] = {
            name: [value if isinstance(value, str) else _short(value, 4) for value in rows[name]] for name in known
        }
    words = {"caption": panel.caption, "x_title": panel.x.title, "y_title": panel.y.title} if named else {}
    return {"panel": panel.key, **{key: word for key, word in words.items() if word}, "series": series}


def _short(value: float | None, significant: int) -> float | None:
    """Round to significant digits; whole numbers become integers, which JSON writes shorter."""
    if value is None:
        return None
    short = float(f"{value:.{significant}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short  # noqa: PLR2004 - exact in a double


def path(root: Path, experiment: str) -> Path:
    """Where the record of an experiment is, below the repository."""
    return root / "docs" / "fidelity" / "data" / f"{experiment}.json"


def write(file: Path, record: Record) -> None:
    """Write a record, by rename."""
    write_json(file, record.as_json())


def write_json(file: Path, data: Mapping[str, Any]) -> None:
    """Write JSON, by rename: what fits a line on one line."""
    targets.put(file, _lines(data, 0) + "\n")


def _lines(value: Any, depth: int) -> str:  # noqa: ANN401 - JSON
    """Write JSON so that a change of one number changes one line."""
    text = json.dumps(value, allow_nan=False, ensure_ascii=False)
    if len(text) <= 110 or depth > 5 or not isinstance(value, dict | list):  # noqa: PLR2004 - width of a line
        return text
    pad = "  " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{pad}{json.dumps(key)}: {_lines(item, depth + 1)}" for key, item in value.items()]
        return "{\n" + ",\n".join(parts) + "\n" + "  " * depth + "}"
    if all(not isinstance(item, dict | list) for item in value):
        return text
    return "[\n" + ",\n".join(pad + _lines(item, depth + 1) for item in value) + "\n" + "  " * depth + "]"


def read(file: Path) -> Record | None:
    """Read a record; None if there is none.

    Raises
    ------
    AnabranchError
        If the file is not a record.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if data["schema"] != SCHEMA:
            raise AnabranchError(f"{file}: version {data['schema']} of the format, expected {SCHEMA}")
        return Record(
            experiment=str(data["experiment"]),
            quick=data["size"] == "quick",
            seeds=tuple(data["seeds"]),
            scenario=str(data["scenario"]),
            version=str(data["version"]),
            incomplete=int(data["incomplete_runs"]),
            claims={
                key: Measured({int(seed): float(value) for seed, value in claim["values"].items()})
                for key, claim in data["claims"].items()
            },
            figures=data["figures"],
            settings=data.get("settings", ()),
            commit=data["commit"],
            model=data.get("model"),
            parts=data.get("parts"),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise AnabranchError(f"{file}: not a record of an experiment ({type(error).__name__}: {error})") from error


def read_all(root: Path, experiments: Sequence[Experiment]) -> dict[str, Record]:
    """Read the records that are there, by experiment."""
    found = {one.name: read(path(root, one.name)) for one in experiments}
    return {name: record for name, record in found.items() if record is not None}
