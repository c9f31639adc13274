"""Which experiments wait to be recorded again, because the model has changed since: ``docs/fidelity/data/waiting.txt``.

A change of the model makes records older than it, and to make all of them again can take days. Those that were older
when the list was made stand in it. It only shrinks: recording an experiment takes it off, and nothing puts one on. An
experiment that is not on it has a record of the current model; the tests hold the repository to that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.base import targets
from anabranch.reproduce import age, versions
from anabranch.reproduce.record import path, read_all, write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from anabranch.reproduce.model import Experiment

FILE = "docs/fidelity/data/waiting.txt"
HEAD = "# Experiments whose records are older than the model; recording one takes it off, nothing puts one on."


def parse(text: str) -> dict[str, str]:
    r"""The names in the text of a list, one a line, with what they were called when they came on it.

    Examples
    --------
    >>> parse("# Older\nscdp/fig01\npolyraptor/fig1 was scdp/polyraptor-fig1\n")
    {'scdp/fig01': 'scdp/fig01', 'polyraptor/fig1': 'scdp/polyraptor-fig1'}
    """
    lines = (line.partition(" was ") for line in text.splitlines() if line and not line.startswith("#"))
    return {name: before or name for name, _, before in lines}


def read(root: Path) -> dict[str, str]:
    """The experiments that wait, with their former names; none where there is no list."""
    file = root / FILE
    return parse(file.read_text(encoding="utf-8")) if file.is_file() else {}


def settle(root: Path, experiments: Sequence[Experiment]) -> list[str]:
    """Take off the list what is recorded with the current model by now; returns what was taken off.

    Records that only their commit tells to be current name the versions themselves from then on.
    """
    records = read_all(root, experiments)
    for one in experiments:
        if one.name in records:
            there = versions.now(one, quick=records[one.name].quick)
            dated = age.dated(root, records[one.name], there)
            if dated != records[one.name] and not age.older(dated, there):
                write(path(root, one.name), dated)
    old = age.old(root, experiments, records)
    names = read(root)
    renewed = [name for name in names if name not in old]
    if renewed:
        lines = (name if was == name else f"{name} was {was}" for name, was in names.items() if name in old)
        targets.put(root / FILE, "\n".join([HEAD, *lines]) + "\n")
    return renewed


def added(root: Path) -> list[str]:
    """What was put on the list since it was committed with this version of the model; empty if git cannot tell."""
    names = read(root)
    source = root / versions.SOURCE
    current = versions.written(source.read_text(encoding="utf-8")) if source.is_file() else None
    grown: set[str] = set()
    for revision in (age.git(root, "log", "--format=%H", "--", FILE) or "").split():
        then = age.git(root, "show", f"{revision}:{versions.SOURCE}")
        if then and versions.written(then) == current:
            there = parse(age.git(root, "show", f"{revision}:{FILE}") or "")
            grown |= {name for name, was in names.items() if not {name, was} & {*there, *there.values()}}
    return sorted(grown)
