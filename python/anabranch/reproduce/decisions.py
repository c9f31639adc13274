"""What an experiment's numbers rest on, folded: decisions where its paper is silent, and the code that recorded it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anabranch.reproduce import prose
from anabranch.reproduce.causes import flow
from anabranch.reproduce.comparison import UNRECORDED, recorded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.reproduce.model import Experiment
    from anabranch.reproduce.record import Record


def folded(title: str, *blocks: str) -> str:
    """Blocks of a page that open with a click."""
    return "\n\n".join([f"<details><summary>{title}</summary>", *blocks, "</details>"])


def decisions(
    experiments: Sequence[Experiment],
    records: Mapping[str, Record],
    facts: prose.Facts,
    title: str = "Decisions where the paper is silent, and remarks",
) -> str:
    """List the decisions, one that several experiments share once; empty without any."""
    found: dict[str, list[str]] = {}
    for one, _ in recorded(experiments, records):
        for part in prose.divided(one.notes):
            if text := flow(facts.text(part, one, missing=UNRECORDED)):
                found.setdefault(text, []).append(f"`{one.name}`")
    named: dict[str, list[str]] = {}
    for text, names in found.items():
        named.setdefault(", ".join(names), []).append(text)
    lines = [f"- {names}: {' '.join(texts)}" for names, texts in named.items()]
    return folded(title, "\n".join(lines)) if lines else ""


def origins(experiments: Sequence[Experiment], records: Mapping[str, Record], old: Mapping[str, str]) -> list[str]:
    """Which code recorded what, which records are older than the model, and what is not recorded."""
    commits: dict[str, list[str]] = {}
    for one, record in recorded(experiments, records):
        mark = " (older)" if one.name in old else ""
        commits.setdefault(record.commit or "a commit not known", []).append(f"`{one.name}`{mark}")
    lines = [f"- {commit}: {', '.join(names)}" for commit, names in commits.items()]
    waiting = [f"`{one.name}`" for one in experiments if one.name not in records]
    blocks = [folded("The code that recorded each experiment", "\n".join(lines))] if lines else []
    return [*blocks, f"Not recorded yet: {', '.join(waiting)}."] if lines and waiting else blocks
