"""With which version of the model a record was made, and whether that is the one that is here.

A record names the version of the model, and the versions of those parts of it that concern its scenario (`MODEL` and
`MODEL_PARTS` of ``crates/sim/src/lib.rs``). The simulator says what they are now. Of a record from before they were
kept the commit tells, where the repository has it; nothing is guessed where neither does.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

from anabranch.reproduce.versions import SOURCE, Versions, now, written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from anabranch.reproduce.model import Experiment
    from anabranch.reproduce.record import Record


def git(root: Path, *words: str) -> str | None:
    """What git says of the repository at `root`; None if it cannot tell."""
    command = ["git", "-C", str(root), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - ours
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def commit(root: Path) -> str | None:
    """Commit of the repository at `root`, ``-dirty`` if what runs depend on may differ; None if git cannot tell.

    Recording itself changes ``docs`` and README.md.
    """
    head = git(root, "rev-parse", "--short=10", "HEAD")
    if head is None:
        return None
    same = git(root, "diff-index", "--quiet", "HEAD", "--", ".", ":!docs", ":!README.md") is not None
    return head.strip() + ("" if same else "-dirty")


def older(record: Record, now: Versions | None) -> str:
    """In which way a record is older than the model; empty if it is not, or if it is a calculation's."""
    if now is None:
        return ""
    if record.model is None:
        return "recorded before models were kept"
    if record.model != now.model:
        return f"older than the model: recorded with version {record.model}, now {now.model}"
    if record.parts is None:
        return "recorded before parts of the model were kept"
    parts = {name: (record.parts.get(name, 1), version) for name, version in now.parts.items()}
    changed = [f"{name} (version {then}, now {version})" for name, (then, version) in parts.items() if then != version]
    return f"older than a part of the model: {', '.join(changed)}" if changed else ""


def dated(root: Path, record: Record, now: Versions | None) -> Record:
    """A record with the versions that its commit tells, if it does not name them itself; otherwise as it is."""
    if now is None or record.commit is None or record.commit.endswith("-dirty") or record.parts is not None:
        return record
    source = git(root, "show", f"{record.commit}:{SOURCE}")
    then = written(source) if source else None
    if then is None:
        return record
    model = then.model if record.model is None else record.model
    return replace(record, model=model, parts={name: then.parts.get(name, 1) for name in now.parts})


def old(root: Path, experiments: Sequence[Experiment], records: Mapping[str, Record]) -> dict[str, str]:
    """The experiments whose records are older than the model, by name, with what they are older than."""
    found = {}
    for one in experiments:
        if one.name in records:
            there = now(one, quick=records[one.name].quick)
            if said := older(dated(root, records[one.name], there), there):
                found[one.name] = said
    return found
