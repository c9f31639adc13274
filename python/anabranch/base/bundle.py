"""Where the files are that come with Anabranch: the scenarios, and the records of the papers' experiments.

In a clone they are in ``scenarios/`` and ``docs/fidelity/data/``. A wheel has both below ``anabranch/share/``, under
the same names (``crates/py/build.rs``). It has no documents: what reads or writes these needs a `clone`.
"""

from __future__ import annotations

from pathlib import Path

from anabranch.errors import AnabranchError

DEMO = Path("scenarios", "examples", "demo.toml")
"""The demonstration's scenario."""
ABOUT = ("paper.toml", "experiment.toml")
"""Files beside scenarios that say what is made of them (`anabranch.reproduce`)."""

PACKAGE = Path(__file__).parents[1]
SHARE = PACKAGE / "share"


def _clones() -> tuple[Path, ...]:
    """Where a clone may be: the working directory, and around an editable install."""
    return (Path(), PACKAGE.parents[1])


def places() -> tuple[Path, ...]:
    """The folders that are searched for a file, in order."""
    return (*_clones(), SHARE)


def locate(name: str | Path) -> Path | None:
    """Find a file by its name in the repository: in a clone, or in the package; None if it is in neither."""
    return next((folder / name for folder in places() if (folder / name).is_file()), None)


def find(name: str | Path) -> Path:
    """Find a file by its name in the repository, like `locate`.

    Raises
    ------
    AnabranchError
        If it is not there.
    """
    found = locate(name)
    if found is None:
        raise AnabranchError(
            f"{name} is not here: neither below the working directory nor in {SHARE}",
            hint="install Anabranch again, or change into a clone of the repository",
        )
    return found


def clone(purpose: str) -> Path:
    """Find the clone of the repository.

    Parameters
    ----------
    purpose
        What needs it, for the message: ``--record``.

    Raises
    ------
    AnabranchError
        If there is none.
    """
    for folder in _clones():
        if (folder / "scenarios").is_dir() and (folder / "docs" / "fidelity").is_dir():
            return folder
    raise AnabranchError(
        f"{purpose} needs a clone of the repository: it works on docs/fidelity, which a package lacks",
        hint="give the same command in a clone",
    )


def scenario(file: Path) -> Path:
    """Find a scenario file: as it is named, or else among those that come with Anabranch.

    Parameters
    ----------
    file
        A path; ``scenarios/examples/hello.toml`` is found from everywhere.

    Returns
    -------
    pathlib.Path
        The file that there is; `file` itself if there is none, so that the error names what was asked for.
    """
    if file.exists() or file.parts[:1] != ("scenarios",) or ".." in file.parts:
        return file
    return locate(file) or file


def scenarios() -> tuple[str, ...]:
    """Names of the scenarios that come with Anabranch, as `scenario` finds them, in order."""
    home = find(DEMO).parents[2]
    files = (home / "scenarios").glob("*/**/*.toml")
    return tuple(sorted(file.relative_to(home).as_posix() for file in files if file.name not in ABOUT))


def experiments() -> Path:
    """The folder ``scenarios`` with the papers' experiments: of a clone, or of the package.

    Raises
    ------
    AnabranchError
        If there is none.
    """
    found = next((home / "scenarios" for home in places() if any(home.glob(f"scenarios/*/{ABOUT[0]}"))), None)
    return found if found is not None else find(Path("scenarios", "scdp", ABOUT[0])).parents[1]
