"""Follows the pages of ``docs/how-to`` that extend the simulator, on a copy of the tree.

A block of code belongs to the file whose name comes last in the paragraph before it:

- a file that does not exist is made of the block;
- a block for ``probes = [ .. ]`` or ``registry! { .. }`` of a file goes to the end of what these brackets enclose;
- a block "at the end of" a file goes there;
- a block "as it stands in" a file has to be there, and changes nothing.

A module line after the name of a file (``FILE: `mod ring;` ``) goes beside those that the file has. Lines of blocks of
``console`` that begin with ``$`` are commands. TOML without a file is a scenario.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = (
    "add-a-congestion-control",
    "add-a-controller",
    "add-a-queue",
    "add-a-routing-scheme",
    "add-a-topology",
    "add-a-transport",
    "add-a-workload",
)

COPIED = ("Cargo.toml", "Cargo.lock", "clippy.toml", "rustfmt.toml", "crates", "docs", "scenarios", "python/anabranch")
"""What the crates and the pages need."""

FILE = re.compile(r"`((?:crates|docs|python|scenarios)/[\w./-]+\.(?:md|py|rs|toml))`")
MODULE = re.compile(r"`((?:pub )?mod \w+;)`")
PLACE = re.compile(r"`([^`]*) ([{(\[]) \.\. [])}];?`")
CLOSING = {"{": "}", "(": ")", "[": "]"}


class StepError(Exception):
    """A step of a page that cannot be followed."""


@dataclass
class Block:
    """A block of code with the paragraph before it, on one line."""

    language: str
    code: str
    told: str


@dataclass
class Tree:
    """The text of the files that a copy is to have, changed by pages."""

    files: dict[str, bytes]
    commands: list[str] = field(default_factory=list)
    scenarios: dict[str, str] = field(default_factory=dict)
    new: list[str] = field(default_factory=list)

    def text(self, path: str) -> str:
        return self.files[path].decode()


def blocks(text: str) -> list[Block]:
    """All blocks of a page; those within list items without their indentation."""
    found = []
    for match in re.finditer(r"^( *)```(\w*)\n(.*?)^\1```$", text, re.DOTALL | re.MULTILINE):
        indent, language, code = match.groups()
        code = re.sub(rf"^{indent}", "", code, flags=re.MULTILINE)
        before = text[: match.start()].rstrip()
        told = re.split(r"\n\s*\n|\n```\n", before)[-1]
        found.append(Block(language, code, " ".join(told.split())))
    return found


def tree(root: Path = ROOT) -> Tree:
    """The files of a checkout."""
    files = {}
    for name in COPIED:
        top = root / name
        paths = [top] if top.is_file() else sorted(top.rglob("*"))
        for path in paths:
            if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so":
                files[path.relative_to(root).as_posix()] = path.read_bytes()
    return Tree(files)


def insert(text: str, place: str, bracket: str, code: str) -> str:
    """Puts code at the end of what ``place`` and its bracket enclose."""
    lines = text.split("\n")
    opening = [i for i, line in enumerate(lines) if line.strip().startswith(place) and line.endswith(bracket)]
    if len(opening) != 1:
        raise StepError(f"{len(opening)} lines begin with `{place}` and end with {bracket}")
    (first,) = opening
    indent = re.match(" *", lines[first])
    assert indent
    closing = re.compile(rf"{indent[0]}{re.escape(CLOSING[bracket])}")
    last = next(i for i in range(first + 1, len(lines)) if closing.match(lines[i]))
    lines[last:last] = textwrap.indent(code, f"{indent[0]}    ").rstrip("\n").split("\n")
    return "\n".join(lines)


def beside(text: str, line: str) -> str:
    """Puts a module line before the first of its kind."""
    kind = line.rpartition(" ")[0]
    others = re.search(rf"^{kind} \w+;$", text, re.MULTILINE)
    if not others:
        raise StepError(f"no line like `{line}`")
    return f"{text[: others.start()]}{line}\n{text[others.start() :]}"


def follow(copy: Tree, page: str, text: str) -> None:
    """Takes the steps of a page.

    Raises
    ------
    StepError
        If a step names a file or a place that is not there.
    """
    for path, line in re.findall(rf"{FILE.pattern}: {MODULE.pattern}", " ".join(text.split())):
        copy.files[path] = beside(copy.text(path), line).encode()
    for block in blocks(text):
        if block.language == "console":
            copy.commands += re.findall(r"^\$ (.*)$", block.code, re.MULTILINE)
            continue
        if block.language not in {"rust", "python", "text", "toml"}:
            continue
        names = FILE.findall(block.told)
        try:
            if names:
                put(copy, names[-1], block)
            elif block.language == "toml":
                copy.scenarios[page] = block.code
        except StepError as error:
            raise StepError(f"{page}.md: {error}, after: {block.told}") from None


def put(copy: Tree, path: str, block: Block) -> None:
    """Puts a block into its file."""
    if path not in copy.files:
        copy.files[path] = block.code.encode()
        copy.new.append(path)
        return
    text = copy.text(path)
    if "as it stands in" in block.told:
        if block.code not in text:
            raise StepError(f"{path} has no such lines")
        return
    place = PLACE.search(block.told)
    if place:
        text = insert(text, place[1], place[2], block.code)
    elif "at the end of" in block.told:
        text = f"{text.rstrip()}\n\n{block.code}"
    else:
        raise StepError(f"{path} exists, and no place in it is named")
    copy.files[path] = text.encode()


def write(copy: Tree, folder: Path) -> None:
    """Makes ``folder`` hold the files; what is the same keeps its time, so that it is not compiled again."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(folder).as_posix() not in copy.files:
            path.unlink()
    for name, content in copy.files.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def read(page: str) -> str:
    return (ROOT / f"docs/how-to/{page}.md").read_text(encoding="utf-8")


def followed(*pages: str) -> Tree:
    """The checkout with these pages followed."""
    copy = tree()
    for page in pages:
        follow(copy, page, read(page))
    return copy
