"""With which version of the model a record was made, and what has changed since.

A record names the model (`MODEL` of ``crates/sim/src/lib.rs``) since records have that key. Of older ones the commit
tells, where the repository has it; nothing is guessed where neither does.
"""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.reproduce.record import Record

SOURCE = "crates/sim/src/lib.rs"


def git(root: Path, *words: str) -> str | None:
    """What git says of the repository at `root`; None if it cannot tell."""
    command = ["git", "-C", str(root), *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)  # noqa: S603 - ours
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout if done.returncode == 0 else None


def commit(root: Path) -> str | None:
    """Commit of the repository at `root`, ``-dirty`` if more than ``docs`` differs from it; None if git cannot tell.

    Recording changes ``docs`` itself, which runs do not depend on.
    """
    head = git(root, "rev-parse", "--short=10", "HEAD")
    if head is None:
        return None
    same = git(root, "diff-index", "--quiet", "HEAD", "--", ".", ":!docs") is not None
    return head.strip() + ("" if same else "-dirty")


def versions(source: str) -> dict[str, int]:
    """The model's version in a source text, and those of its parts, which concern some scenarios only.

    Examples
    --------
    >>> versions('pub const MODEL: u32 = 6; .. [("tcp", 2, Concerns::Tcp), ..]')
    {'model': 6, 'tcp': 2}
    """
    found = re.search(r"const MODEL: u32 = (\d+)", source)
    parts = re.findall(r'\(\s*"([^"]+)",\s*(\d+)', source)
    return {"model": int(found[1]), **{name: int(version) for name, version in parts}} if found else {}


def older(root: Path, record: Record) -> str:
    """In which way a record is older than the model of a clone; empty if it is not, or if the model is not there."""
    file = root / SOURCE
    now = versions(file.read_text(encoding="utf-8")) if file.is_file() else {}
    if not now:
        return ""
    if record.commit is None and record.model is None:
        return "recorded before commits and models were kept"
    said = git(root, "show", f"{record.commit.removesuffix('-dirty')}:{SOURCE}") if record.commit else None
    then = versions(said) if said else {}
    if record.model is not None:
        then["model"] = record.model
    if not then:
        return f"recorded before models were kept, with commit {record.commit}, which is not here"
    model = now.pop("model")
    if then.get("model") != model:
        return f"older than the model: recorded with version {then.get('model')}, now {model}"
    parts = [name for name, version in now.items() if said and then.get(name, 1) != version]
    return f"parts of the model have changed since, if they concern it: {', '.join(parts)}" if parts else ""
