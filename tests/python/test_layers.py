"""Modules of the Rust crates import only what is below them, and no two files import each other."""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]

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
        config
        demotion endpoint rank
        back_off pull round_trip turns
        testing
        ndp scdp tcp udp
        multipath
    """,
    "host": """
        hash_tree key_file marking random received
        object
        signature
        wire
        keys limits replay trust
        seal unseal
        config
        session
        event
        acquaintances admission schedule
        host
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
        clock error file suggest
        process reference source template
        files tools
        names sweep unprivileged
        plan
        network
        execute
    """,
    "sim": """
        input random stopwatch
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
NAMED = re.compile(r"\bcrate::(\{|\w+)")
EXPORTED = re.compile(r"^pub use (\w+)::(?:\{([^}]*)\}|(\w+));", re.MULTILINE)
PATH = re.compile(r"\b(crate|(?:super::)*super)((?:::\w+)+)")
INNERMOST = re.compile(r"\{[^{}]*\}")


def imports(source: str) -> Iterator[str]:
    """Modules of its own crate that a source file names, comments apart."""
    code = COMMENT.sub("", source)
    for named in NAMED.finditer(code):
        if named[1] != "{":
            yield named[1]
            continue
        # `use crate::{a, b::{c, d}};` without what is in the inner braces.
        several = code[named.end() : code.index(";", named.end())]
        while INNERMOST.search(several):
            several = INNERMOST.sub("", several)
        yield from (name.strip(" \n}").partition("::")[0] for name in several.split(","))


def exports(root: str) -> dict[str, str]:
    """The module of each name that the crate's root exports."""
    lists = ((module, several or one) for module, several, one in EXPORTED.findall(root))
    return {name.strip(): module for module, names in lists for name in names.split(",")}


def upward(crate: Path, layers: list[list[str]]) -> list[str]:
    """What is imported from a layer that is not below."""
    height = {module: n for n, layer in enumerate(layers) for module in layer}
    module_of = exports((crate / "lib.rs").read_text(encoding="utf-8"))
    found = []
    for path in sorted(crate.rglob("*.rs")):
        module = path.relative_to(crate).parts[0].removesuffix(".rs")
        if module == "lib":
            continue
        assert module in height, f"{module} of {crate} has no layer"
        names = {module_of.get(name, name) for name in imports(path.read_text(encoding="utf-8"))} - {module}
        above = sorted(name for name in names if height.get(name, -1) >= height[module])
        found += [f"{path.relative_to(crate)} imports {name}" for name in above]
    return found


def files(crate: Path) -> dict[tuple[str, ...], Path]:
    """The module that each file is."""
    inner = (path for path in sorted(crate.rglob("*.rs")) if path.name != "lib.rs")
    parts = ((path.relative_to(crate).with_suffix("").parts, path) for path in inner)
    return {module[:-1] if module[-1] == "mod" else module: path for module, path in parts}


def circle(crate: Path) -> list[str]:
    """Files that import each other, round a circle; a module and those inside it are one."""
    modules = files(crate)
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        uses = graph.setdefault("::".join(module), set())
        for head, tail in PATH.findall(COMMENT.sub("", path.read_text(encoding="utf-8"))):
            base = () if head == "crate" else module[: max(0, len(module) - head.count("super"))]
            target = (*base, *tail.split("::")[1:])
            while target and target not in modules:
                target = target[:-1]
            if target[: len(module)] != module and module[: len(target)] != target:
                uses.add("::".join(target))
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("crate", LAYERS)
def test_modules_import_what_is_below_them(crate: str) -> None:
    layers = [line.split() for line in LAYERS[crate].strip().splitlines()]
    assert upward(ROOT / "crates" / crate / "src", layers) == []


def test_an_import_from_above_is_found(tmp_path: Path) -> None:
    (tmp_path / "low").mkdir()
    (tmp_path / "lib.rs").write_text("mod low;\nmod beside;\nmod high;\npub use high::{Other, Thing};\n")
    (tmp_path / "low" / "a.rs").write_text("//! See crate::beside.\nuse crate::{low::{b, c}, Thing};\n")
    (tmp_path / "beside.rs").write_text("fn f() -> crate::low::A {}\n")
    (tmp_path / "high.rs").write_text("use crate::low::a;\n")
    found = upward(tmp_path, [["low", "beside"], ["high"]])
    assert found == ["beside.rs imports low", "low/a.rs imports high"]


@pytest.mark.parametrize("crate", LAYERS)
def test_no_files_import_each_other(crate: str) -> None:
    assert circle(ROOT / "crates" / crate / "src") == []


def test_files_that_import_each_other_are_found(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "mod.rs").write_text("mod one;\nmod two;\npub use one::One;\n")
    (tmp_path / "a" / "one.rs").write_text("use super::two::Two;\nuse super::One;\n")
    (tmp_path / "a" / "two.rs").write_text("// super::one\n")
    assert circle(tmp_path) == []
    (tmp_path / "a" / "two.rs").write_text("use crate::a::one::One;\n")
    assert sorted(set(circle(tmp_path))) == ["a::one", "a::two"]
