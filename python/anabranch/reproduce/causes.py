"""The causes of deviations in a section of a page: each is said once, below the table, and has a letter there."""

from __future__ import annotations

from string import ascii_lowercase
from typing import TYPE_CHECKING

from anabranch.reproduce import prose
from anabranch.reproduce.comparison import UNRECORDED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anabranch.reproduce.comparison import Row


class Causes:
    """Those of one section, by letter.

    Parameters
    ----------
    facts
        What their texts refer to.
    section
        Which: others refer to it by this name.
    told
        Where the texts of all sections stand, section and letter.
    """

    def __init__(self, facts: prose.Facts, section: str = "", told: dict[str, tuple[str, str]] | None = None) -> None:
        self.facts, self.section, self.told = facts, section, {} if told is None else told
        self.own: dict[str, str] = {}
        self.done = 0

    def letters(self, row: Row) -> list[str]:
        """The letters of a claim's explanation and of those that it includes."""
        return [self._letter(text) for text in self._texts(row)]

    def _letter(self, text: str) -> str:
        count = len(self.own)
        return self.own.setdefault(text, ascii_lowercase[count % 26] * (count // 26 + 1))

    def _texts(self, row: Row) -> Iterator[str]:
        waiting = [row.claim.explanation] if row.why else []
        while waiting:
            text = row.experiment.explanation[waiting.pop(0)].text
            waiting += [target for kind, target in prose.references(text) if kind == "explanation"]
            own = prose.without(text, "explanation")
            if said := flow(self.facts.text(own, row.experiment, missing=UNRECORDED)):
                yield said

    def listing(self) -> list[str]:
        """List those that got a letter since it was made last; one that another section tells is only named."""
        lines = []
        for text, letter in list(self.own.items())[self.done :]:
            section, there = self.told.setdefault(text, (self.section, letter))
            elsewhere = f"As **{there}** in {section}."
            lines.append(f"- **{letter}** {text if section == self.section else elsewhere}")
        self.done = len(self.own)
        return ["\n".join(lines)] if lines else []


def flow(text: str) -> str:
    """Write a text on one line, as an item of a list."""
    return " ".join(text.split())
