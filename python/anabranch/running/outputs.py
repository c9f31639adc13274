"""Which folders may be written, and what may be removed from them.

Two rules. What is not a result of ours is never touched: only files of the layout are removed
(``docs/reference/results.md``), other files beside them stay, and a folder that is no result folder is refused. And no
finished run is lost without a word: a folder that holds runs which the new experiment does not make needs ``--force``.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, cast

from anabranch.base import places
from anabranch.errors import AnabranchError
from anabranch.results.manifest import FINAL

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anabranch.running.plan import PlannedRun

OWN = frozenset({"manifest.json", "fabric.json", "report.html"})
"""Files that ``anabranch run`` writes into the folder."""

RUN = re.compile(r"\.*(?P<run>p\d+-s\d+)(\.[0-9a-f]{8})?(\.part)?")
"""Folders below ``runs/``; with dots: a run that was being written or renamed when its program ended."""

TABLES = frozenset({"flows.parquet", "links.parquet", "blocks.parquet", "series.parquet", "run.json"})
"""Files in the folder of a run."""

CAPTURES = "packets"
"""Folder of captures in the folder of a run: pcapng files and nothing else."""

DRAFT = re.compile(r"\.?(manifest|fabric|run)\.(json\.)?part|\.[\w.]+\.new")
"""Files that a program which was killed left before it gave them their names."""

LONGEST = 100
"""Characters of a default folder's name at most."""


def default(file: Path, overrides: Sequence[str] = (), *, seeds: int | None = None) -> Path:
    """The folder for the results of a command that names none: settings get one of their own.

    Examples
    --------
    >>> str(default(Path("scenarios/incast.toml")))
    'out/incast'
    >>> str(default(Path("incast.toml"), ["transport.tcp.rto_min=1ms"], seeds=3))
    'out/incast,transport.tcp.rto_min=1ms,seeds=3'
    """
    asked = ",".join([*overrides, *([] if seeds is None else [f"seeds={seeds}"])])
    if not asked:
        return Path("out", file.stem)
    name = re.sub(r"[^\w.,=+-]+", "_", asked)
    if name != asked or len(name.encode()) > LONGEST:
        # Two settings may read alike once they are shortened.
        digest = hashlib.sha256(asked.encode(errors="surrogateescape")).hexdigest()[:8]
        name = f"{name.encode()[:LONGEST].decode(errors='ignore')}-{digest}"
    return Path("out", f"{file.stem},{name}")


def check(folder: Path, *, resume: bool = False) -> None:
    """Check that a folder may be written: it does not exist, is empty, or is a result folder.

    Other files in a result folder are in nobody's way, unless a run's own folder would have to go with them.

    Parameters
    ----------
    folder
        Where the results are to be written.
    resume
        Folders of runs stay as far as possible: the core refuses to remove one that holds other files.

    Raises
    ------
    AnabranchError
        If writing there would touch what is not ours.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise AnabranchError(f"{folder} exists and is not a folder", hint="choose another with --out")
    if not _ours(folder):
        foreign = next(_in_the_way(folder), None)
        what = "and it is no result folder"
    else:
        # In an object store, runs that are not kept are removed with all that is below their names.
        removed = not resume or places.is_url(folder)
        foreign = next(_in_results(folder, removed=removed), None)
        what = "where a result has to be written"
    if foreign is not None:
        raise AnabranchError(
            f"{folder} holds {str(foreign.relative_to(folder))!r}, which is not part of an experiment, {what}; "
            "nothing was written",
            hint="choose another folder with --out, or move that file away",
        )


def _in_the_way(folder: Path) -> Iterator[Path]:
    """What is in a folder that is no result folder, in order: drafts and hidden files are in nobody's way."""
    for path in sorted(folder.iterdir()):
        empty = path.name == "runs" and path.is_dir() and all(map(_hidden, path.iterdir()))
        if not empty and not DRAFT.fullmatch(path.name) and not _hidden(path):
            yield path


def _hidden(path: Path) -> bool:
    """Whether a file manager or a version control put this here: it stays, and is in nobody's way."""
    return path.name[0] == "."


def _in_results(folder: Path, *, removed: bool) -> Iterator[Path]:
    """What stands in a result folder where a result has to be written, in order.

    Parameters
    ----------
    folder
        The result folder.
    removed
        Whether the folders of runs are to be removed: then nothing else may be in them.
    """
    yield from (folder / name for name in sorted(OWN) if (folder / name).is_dir())
    runs = folder / "runs"
    if runs.is_symlink() or (runs.exists() and not runs.is_dir()):
        yield runs
        return
    for run in sorted(runs.iterdir()) if runs.exists() else ():
        if not RUN.fullmatch(run.name):
            continue
        if run.is_symlink() or not run.is_dir():
            yield run
        elif removed:
            yield from _in_run(run)


def _in_run(run: Path) -> Iterator[Path]:
    """Files in the folder of a run that are none of a run."""
    for file in sorted(run.iterdir()):
        if file.name == CAPTURES and file.is_dir() and not file.is_symlink():
            captures = sorted(file.iterdir())
            yield from (one for one in captures if one.suffix != ".pcapng" or not one.is_file() or one.is_symlink())
        elif file.name not in TABLES and not DRAFT.fullmatch(file.name):
            yield file


def _ours(folder: Path) -> bool:
    """Whether the files of a folder are those of an experiment; ``manifest.json`` is a usual name elsewhere, too."""
    runs = folder / "runs"
    if runs.is_dir() and any(RUN.fullmatch(run.name) for run in runs.iterdir()):
        return True
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(manifest, dict) and "anabranch_version" in manifest and "runs" in manifest


def finished(folder: Path) -> dict[str, str]:
    """The runs that a folder holds with their results: name to hash, empty where it is not known.

    A run is known by its own entry, ``run.json``, or, in older results, by the manifest's. Runs that a killed program
    left under another name (`RUN`) count: they are as finished as the others.
    """
    listed: dict[str, str] = {}
    try:
        for run in json.loads((folder / "manifest.json").read_bytes())["runs"]:
            if run["status"] in FINAL:
                listed[str(run["run"])] = str(run.get("scenario_hash", ""))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        pass
    found = {}
    # In an object store a run is complete when its entry is there. Older folders have runs without.
    sign = "run.json" if places.is_url(folder) else "flows.parquet"
    homes = [
        home
        for pattern in ("runs/p*", "runs/.*")
        for home in sorted(folder.glob(pattern), key=str)
        if RUN.fullmatch(home.name) and (home / (sign if home.name[0] == "p" else "run.json")).is_file()
    ]
    for home, content in zip(homes, places.contents([home / "run.json" for home in homes]), strict=True):
        try:
            entry = json.loads(content or b"")
            if entry["status"] in FINAL:
                found[home.name] = str(entry["scenario_hash"])
        except (ValueError, KeyError, TypeError):
            if home.name[0] == "p":  # another may have been interrupted while its entry was written
                found[home.name] = listed.get(home.name, "")
    return found


def guard(folder: Path, planned: Sequence[PlannedRun], *, resume: bool) -> None:
    """Check that no finished run of a folder would be lost.

    Parameters
    ----------
    folder
        Where the results are to be written.
    planned
        The runs to be made: what they make again is not lost.
    resume
        Runs that are there are kept unless one of the plan needs the name.

    Raises
    ------
    AnabranchError
        If a run would be lost.
    """
    there = finished(folder)
    made = {run.hash for run in planned}
    names = {run.run for run in planned}
    lost = [
        run
        for run, known in there.items()
        if known not in made and (not resume or cast("re.Match[str]", RUN.fullmatch(run))["run"] in names)
    ]
    if lost:
        few = ", ".join(lost[:3]) + (" ..." if len(lost) > 3 else "")  # noqa: PLR2004 - three fit a line
        raise AnabranchError(
            f"{folder} holds {len(there)} finished runs{_origin(folder)}; {len(lost)} of them ({few}) would be "
            f"deleted, and {_reason(folder, planned)}; nothing was touched",
            hint="choose another folder with --out, or say --force to replace them",
        )


def _reason(folder: Path, planned: Sequence[PlannedRun]) -> str:
    """Why an experiment does not make the runs of a folder again."""
    try:
        there = json.loads((folder / "manifest.json").read_bytes())["runs"]
        known = {(run["run"], run["seed"], json.dumps(run["point"], sort_keys=True)) for run in there}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        known = set()
    if known == {(run.run, run.seed, json.dumps(run.point, sort_keys=True)) for run in planned}:
        return "they are of another version of the scenario or of the simulator, which gives other results now"
    return "this experiment does not make them again"


def _origin(folder: Path) -> str:
    """Which experiment a folder holds, for a message."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
        settings = " ".join(map(str, manifest.get("overrides", ())))
        return f" of {manifest['scenario_file']}" + (f" with {settings}" if settings else "")
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
