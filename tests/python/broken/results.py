"""Damaged result folders."""

from broken.case import Case

CASES: tuple[Case, ...] = (Case(name="missing", argv=("report", "nowhere"), says=("nowhere", "hint:")),)
