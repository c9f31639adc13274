"""The rows of the cross-check, and the page that they are written into."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Row:
    """A line of the table; `changed` says what was changed in ns-3, if anything."""

    scenario: str
    transport: str
    changed: str
    metric: str
    ours: float
    theirs: float
    verdict: str

    @property
    def ratio(self) -> float:
        """Ours over ns-3's; 1 if both are nothing."""
        if self.theirs == 0:
            return 1.0 if self.ours == 0 else float("inf")
        return self.ours / self.theirs

    def line(self) -> str:
        """As Markdown."""
        return (
            f"| {self.scenario} | {self.transport} | {self.changed} | {self.metric} "
            f"| {self.ours:.4g} | {self.theirs:.4g} | {self.ratio:.3f} | {self.verdict} |"
        )


def summary(rows: Sequence[Row], versions: str) -> str:
    """The result: a sentence, a line for each scenario, a line for each experiment."""
    compared = [row for row in rows if not row.changed]
    agree = sum(row.verdict == "ok" for row in compared)
    off = sum(row.verdict == "OFF" for row in compared)
    counts = (
        f"Of {len(compared)} metrics {agree} are within 10 % of ns-3's, {len(compared) - agree - off} differ for a "
        f"reason that is known, {off} for one that is not ({versions})."
    )
    lines = [
        counts,
        "",
        "| scenario | metrics | within 10 % | reasons of the others |",
        "|---|---:|---:|---|",
    ]
    for scenario in dict.fromkeys(row.scenario for row in compared):
        mine = [row for row in compared if row.scenario == scenario]
        reasons = dict.fromkeys(
            "not known" if row.verdict == "OFF" else row.verdict.removeprefix("explained: ")
            for row in mine
            if row.verdict != "ok"
        )
        within = sum(row.verdict == "ok" for row in mine)
        lines.append(f"| {scenario} | {len(mine)} | {within} | {'; '.join(reasons) or 'none'} |")
    examined = {(row.scenario, row.transport) for row in rows if row.changed}
    if examined:
        lines += [
            "",
            "| scenario | transport | done in ns-3 as here | ratios (ours / ns-3) of all metrics |",
            "|---|---|---|---:|",
        ]
    for scenario, transport in dict.fromkeys((row.scenario, row.transport) for row in rows):
        mine = [row for row in rows if (row.scenario, row.transport) == (scenario, transport)]
        for changed in dict.fromkeys(row.changed for row in mine) if (scenario, transport) in examined else ():
            ratios = [row.ratio for row in mine if row.changed == changed]
            span = f"{min(ratios):.2f} to {max(ratios):.2f}"
            lines.append(f"| {scenario} | {transport} | {changed or 'nothing'} | {span} |")
    return "\n".join(lines)


def full_table(rows: Sequence[Row]) -> str:
    """Every metric."""
    head = ["| scenario | transport | done in ns-3 as here | metric | ours | ns-3 | ratio | verdict |"]
    return "\n".join([*head, "|---|---|---|---|---:|---:|---:|---|", *(row.line() for row in rows)])


def record(page: Path, by: str = "make crosscheck-ns3-record", **parts: str) -> None:
    """Writes each part between its markers, which name the command; the page stays as it is if a marker is missing."""
    text = page.read_text(encoding="utf-8")
    for name, content in parts.items():
        begin = f"<!-- {name}: written by `{by}`; do not edit -->\n"
        end = f"<!-- end of {name} -->"
        before, found, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"{page}: no place for the {name}\nhint: it goes between {begin.strip()} and {end}")
        text = f"{before}{begin}{content}\n{end}{after}"
    page.write_text(text, encoding="utf-8")
