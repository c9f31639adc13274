"""Crates know only crates below them, modules import only modules below them, and no two files import each other."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]

CRATES = """
    powerlaw raptorq traffic
    codec-bench raptorq-c transport
    job
    host lab sim switch
    bench net results routing
    py scdp-cli
"""
"""From the ground up; a crate may depend on crates of the lines above its own (docs/concepts/architecture.md)."""

WORLDS = ("job sim results routing bench py", "host net switch lab scdp-cli")
"""Neither knows anything of the other."""

# From the ground up; a line may import the lines above it, and no others (docs/concepts/architecture.md).
LAYERS = {
    "raptorq": """
        memory rfc threads
        kernels
        solve
        block
        fountain object
        siblings
    """,
    "raptorq-c": """
        failure
        pointers
        config messages
        decoder encoder
        tests
    """,
    "transport": """
        units
        config standings telemetry
        demotion endpoint rank
        ends
        back_off object outbox pacer pull random ranges retries round_trip turn
        arrived
        testing
        homa ndp phost roce scdp tcp udp
        multipath uec
    """,
    "host": """
        hash_tree key_file marking random received
        object
        signature
        wire
        keys limits replay trust
        unseal
        seal
        config
        session
        event
        acquaintances admission schedule
        host
    """,
    "job": """
        error job division
        links
        check matching order servers
        builder settings
        progress
        idle loggops
        collective
        model read
    """,
    "traffic": """
        compress stamp watch
        error
        bins filter input order
        request
        track
        collect series
        format report
        ingest
    """,
    "powerlaw": """
        quadrature random sample
        law
        zeta
        scan
        fit
        discrete tilted weibull
        alternative
        bootstrap compare
    """,
    "results": """
        error layout tables
        manifest storage
        captures contents moves
        homes lock
        folder
        draft place
        lab
    """,
    "py": """
        codec folder options powerlaw routing traffic
        sweep
    """,
    "bench": """
        cases process
        memory threads
    """,
    "codec-bench": """
        clock provenance workload
        measure
        contenders
        latency
    """,
    "scdp-cli": """
        failure figures save text time
        addresses events table
        arguments output
        key_file session signals
        signing
        doctor key lab switch
        receive send serve
        fetch
        cli
        pages reference
    """,
    "net": """
        clock interface socket waker
        busy_poll files
        error report
        endpoint
        directory
        shelf
        programs
        send
        tokio
    """,
    "switch": """
        probability testing
        frame
        checksum counters forwarding
        igmp impair mark trim
        membership offload queue
        port
        config
        error switch
        interface
        driver
    """,
    "lab": """
        clock discipline error file suggest
        process reference source template
        files tools
        names sweep unprivileged
        plan
        network
        execute
    """,
    "sim": """
        input random stopwatch text
        engine
        fabric
        workload
        host
        capture control
        network
        measure
        scenario
        experiment
    """,
    "routing": """
        error number
        fabric
        theorems traffic
        schemes
        decomposition loads optimum
        worst
        findings
        answer
    """,
}

COMMENT = re.compile(r"//[^\n]*")
START = re.compile(r"\b(crate|self|(?:super::)*super)::(?=[\w{])")
EXPORT = re.compile(r"^pub(?:\([^)]*\))? use ", re.MULTILINE)
WORD = re.compile(r"\w+")
RENAMED = re.compile(r"\s+as\s+\w+")

Module = tuple[str, ...]
"""The names from the crate's root to a module; empty for the root itself."""


def branches(text: str, at: int) -> tuple[list[Module], int]:
    """The paths of a tree such as ``a::{b, c::{d, e}}``, and where it ends."""
    if word := WORD.match(text, at):
        end = word.end()
        if not text.startswith("::", end) or (text[end + 2] not in "{*" and not WORD.match(text, end + 2)):
            return [(word[0],)], end
        inner, end = branches(text, end + 2)
        return [(word[0], *path) for path in inner], end
    if text[at] == "*":
        return [()], at + 1
    found: list[Module] = []
    at += 1
    while True:
        while text[at] in " \n,":
            at += 1
        if text[at] == "}":
            return found, at + 1
        inner, at = branches(text, at)
        found += inner
        if renamed := RENAMED.match(text, at):
            at = renamed.end()


@dataclass(frozen=True)
class Crate:
    """The modules of a crate, and what each of them names."""

    folder: Path

    @cached_property
    def files(self) -> dict[Module, Path]:
        """The file of each module."""
        inner = (path for path in sorted(self.folder.rglob("*.rs")) if path != self.root)
        parts = ((path.relative_to(self.folder).with_suffix("").parts, path) for path in inner)
        return {module[:-1] if module[-1] == "mod" else module: path for module, path in parts}

    @property
    def root(self) -> Path:
        """The file of the crate itself."""
        return next(path for path in (self.folder / "lib.rs", self.folder / "main.rs") if path.exists())

    @cached_property
    def code(self) -> dict[Module, str]:
        """The code of each module, comments apart."""
        return {
            module: COMMENT.sub("", path.read_text(encoding="utf-8"))
            for module, path in {**self.files, (): self.root}.items()
        }

    @cached_property
    def exported(self) -> dict[Module, Module]:
        """What ``pub use`` gives another path: that path, and what it stands for."""
        found = {}
        for module, code in self.code.items():
            for export in EXPORT.finditer(code):
                for path in branches(code, export.end())[0]:
                    target = self.absolute(module, path[0], path[1:]) if path else ()
                    if target:
                        found[*module, target[-1]] = target
        return found

    def absolute(self, module: Module, head: str, tail: Module) -> Module:
        """The path from the root of what a module names."""
        if head == "crate":
            return tail
        if head == "self":
            return (*module, *tail)
        if head.startswith("super"):
            return (*module[: max(0, len(module) - head.count("super"))], *tail)
        return (*module, head, *tail)

    def module_of(self, path: Module) -> Module:
        """The module that defines what a path leads to, or that which leads there."""
        for _ in range(len(self.exported)):
            known = (path[:n] for n in range(len(path), 0, -1) if self.exported.get(path[:n], path[:n]) != path[:n])
            if (start := next(known, None)) is None:
                break
            path = (*self.exported[start], *path[len(start) :])
        while path and path not in self.files:
            path = path[:-1]
        return path

    def uses(self, module: Module) -> Iterator[Module]:
        """Other modules that a module names; those around it, and those in it, are one with it."""
        code = self.code[module]
        for start in START.finditer(code):
            for tail in branches(code, start.end())[0]:
                used = self.module_of(self.absolute(module, start[1], tail))
                if used[: len(module)] != module and module[: len(used)] != used:
                    yield used


def upward(crate: Path, layers: list[list[str]]) -> list[str]:
    """What is imported from a layer that is not below."""
    height = {module: n for n, layer in enumerate(layers) for module in layer}
    found, read = [], Crate(crate)
    for module, path in read.files.items():
        own = module[0]
        assert own in height, f"{own} of {crate} has no layer"
        names = {used[0] for used in read.uses(module)} - {own}
        above = sorted(name for name in names if height.get(name, -1) >= height[own])
        found += [f"{path.relative_to(crate)} imports {name}" for name in above]
    return found


def circle(crate: Path) -> list[str]:
    """Files that import each other, round a circle."""
    read = Crate(crate)
    try:
        TopologicalSorter({module: set(read.uses(module)) for module in read.files}).prepare()
    except CycleError as error:
        return ["::".join(module) for module in error.args[1]]
    return []


@pytest.fixture(scope="module")
def dependencies() -> dict[str, set[str]]:
    """The crates of the workspace by their folders, and which of them each is built from."""
    if shutil.which("cargo") is None:
        pytest.skip("no `cargo` to ask for the crates")
    command = ["cargo", "metadata", "--locked", "--offline", "--no-deps", "--format-version=1"]
    text = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {
        Path(package["manifest_path"]).parent.name: {
            Path(one["path"]).name for one in package["dependencies"] if one.get("path") and one["kind"] != "dev"
        }
        for package in json.loads(text)["packages"]
    }


def test_every_crate_has_a_place(dependencies: dict[str, set[str]]) -> None:
    assert sorted(CRATES.split()) == sorted(dependencies)
    assert sorted(LAYERS) == sorted(dependencies)


def test_crates_depend_on_crates_below_them(dependencies: dict[str, set[str]]) -> None:
    height = {crate: n for n, layer in enumerate(CRATES.strip().splitlines()) for crate in layer.split()}
    above = {crate: {one for one in known if height[one] >= height[crate]} for crate, known in dependencies.items()}
    assert not any(above.values()), above


def test_the_simulator_and_real_networks_do_not_know_each_other(dependencies: dict[str, set[str]]) -> None:
    one, other = (set(world.split()) for world in WORLDS)
    for crate in one | other:
        known = {crate}
        while more := set().union(*(dependencies[name] for name in known)) - known:
            known |= more
        assert not (known & one and known & other), f"{crate} knows {known}"


def test_the_hash_of_the_sources_is_of_all_that_decide_results(dependencies: dict[str, set[str]]) -> None:
    text = (ROOT / "crates/py/build.rs").read_text(encoding="utf-8")
    (named,) = re.findall(r"const SOURCES: &\[&str\] = &\[(.*)\];", text)
    known = {"results"}
    while more := set().union(*(dependencies[name] for name in known)) - known:
        known |= more
    assert set(re.findall(r'"(\w+)"', named)) == known | {"py"}


@pytest.mark.parametrize("crate", LAYERS)
def test_modules_import_what_is_below_them(crate: str) -> None:
    layers = [line.split() for line in LAYERS[crate].strip().splitlines()]
    assert upward(ROOT / "crates" / crate / "src", layers) == []


def test_an_import_from_above_is_found(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    (tmp_path / "lib.rs").write_text("mod low;\nmod beside;\nmod high;\npub use high::{Other, Thing};\n")
    (tmp_path / "low" / "mod.rs").write_text("mod a;\n")
    (tmp_path / "low" / "a.rs").write_text("//! See crate::beside.\nuse crate::{low::{b, c}, Thing as T};\n")
    (tmp_path / "beside.rs").write_text("fn f() -> crate::low::A {}\n")
    (tmp_path / "high.rs").write_text("use crate::low::a;\n")
    found = upward(tmp_path, [["low", "beside"], ["high"]])
    assert found == ["beside.rs imports low", "low/a.rs imports high"]


@pytest.mark.parametrize("crate", LAYERS)
def test_no_files_import_each_other(crate: str) -> None:
    assert circle(ROOT / "crates" / crate / "src") == []


@pytest.mark.parametrize(
    "back",
    [
        "use crate::a::one::One;",
        "use crate::a::{self, one::{One, Other}};",
        "use super::{two, One};",
        "fn f() -> super::One {}",
    ],
)
def test_files_that_import_each_other_are_found(tmp_path: Path, back: str) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "main.rs").write_text("mod a;\n")
    (tmp_path / "a" / "mod.rs").write_text("mod one;\nmod two;\npub(crate) use one::One;\n")
    (tmp_path / "a" / "one.rs").write_text("use super::two::Two;\nuse super::One;\n")
    (tmp_path / "a" / "two.rs").write_text("// super::one\n")
    assert circle(tmp_path) == []
    (tmp_path / "a" / "two.rs").write_text(f"{back}\n")
    assert sorted(set(circle(tmp_path))) == ["a::one", "a::two"]
