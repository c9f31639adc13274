"""A broken input: how to make it, which command is to read it, and how the program is to answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One broken input.

    Attributes
    ----------
    name
        Unique within its kind; lower case with hyphens. It is the name of the test.
    argv
        Arguments of ``anabranch``, which runs in the folder of the case; an argument may hold ``{folder}``.
    says
        Texts that standard error must hold, all of them: what is wrong and where. Case matters.
    files
        Files of the folder, by relative path.
    make
        Makes what `files` cannot: called with the folder after `files` are written.
    exits
        Exit codes that are right. 2 for input that is refused; 0 needs a warning in `says`; 1 for results that are
        kept but are not whole.
    writes
        Patterns (`fnmatch`, of the path relative to the folder) of files that may be new, or be others, afterwards.
        All else must be as it was, byte for byte.
    stdin
        Standard input.
    environment
        Variables besides those of the test.
    seconds
        Time limit, by the clock.
    memory
        Limit of the resident memory in bytes.
    """

    name: str
    argv: tuple[str, ...]
    says: tuple[str, ...]
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    make: Callable[[Path], object] | None = None
    exits: frozenset[int] = frozenset({2})
    writes: tuple[str, ...] = ()
    stdin: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 30.0
    memory: int = 512 * MEGABYTE

    def prepare(self, folder: Path) -> None:
        """Write the files of the case into an empty folder."""
        for name, content in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        if self.make is not None:
            self.make(folder)
