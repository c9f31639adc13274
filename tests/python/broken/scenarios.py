"""Broken scenarios: TOML, keys, values, units, sweeps, overrides, paths."""

from broken.case import Case

CASES: tuple[Case, ...] = (
    Case(name="missing", argv=("run", "no.toml", "--dry-run"), says=("no.toml",)),
    Case(name="empty", argv=("run", "a.toml", "--dry-run"), says=("a.toml",), files={"a.toml": ""}),
)
