"""The page on topology files: its example is read as the page says, and what it says is refused is refused."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import anabranch
from anabranch.errors import AnabranchError

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/topology-file.md").read_text(encoding="utf-8")
CODE = (ROOT / "crates/sim/src/fabric/topology/file.rs").read_text(encoding="utf-8")

SCENARIO = """
[transport]
name = "ndp"
[[workload]]
sizes = { law = "fixed", size = "64KB" }
placement = { pattern = "permutation" }
"""


def example() -> str:
    found = re.search(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert found
    return found[1]


def scenario(folder: Path, text: str) -> Path:
    toml = re.search(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    assert toml
    name = re.search(r'path = "(.*?)"', toml[1])
    assert name
    (folder / name[1]).write_text(text, encoding="utf-8")
    file = folder / "scenario.toml"
    file.write_text(toml[1] + SCENARIO, encoding="utf-8")
    return file


def refused() -> list[tuple[str, str, str]]:
    rows = re.findall(r"^\| `(.*?)` \| `(.*?)` \| (.*?) \|$", PAGE, re.MULTILINE)
    return [(line, instead, error) for line, instead, error in rows if not error.startswith("`")]


def test_the_example_is_a_fabric(tmp_path: Path) -> None:
    results = anabranch.run(scenario(tmp_path, example()), out=tmp_path / "out")
    fabric = results.fabric
    assert (fabric.hosts, fabric.switches, len(fabric.links)) == (4, 4, 8)
    names = [node.name for node in fabric.nodes]
    assert names == ["a0", "a1", "b0", "b1", "leaf-a", "leaf-b", "spine0", "spine1"]
    assert [node.pod for node in fabric.nodes] == [0, 0, 1, 1, 0, 1, None, None]
    assert [(link.rate_bps, link.delay_ns) for link in fabric.links][3:] == [
        (10**9, 10_000.0),
        (10**10, 2_000.0),
        (10**10, 2_000.0),
        (10**10, 10_000.0),
        (2_500_000_000, 10_000.0),
    ]


@pytest.mark.parametrize(("line", "instead", "error"), refused())
def test_what_the_page_refuses_is_refused(line: str, instead: str, error: str, tmp_path: Path) -> None:
    lines = example().splitlines()
    place = next(n for n, text in enumerate(lines) if text.partition("#")[0].strip() == line)
    lines[place] = instead
    with pytest.raises(AnabranchError) as raised:
        anabranch.plan(scenario(tmp_path, "\n".join(lines)))
    assert re.search(rf"two-racks\.topo:\d+: .*{re.escape(error)}", str(raised.value)), raised.value


def test_every_kind_of_line_is_on_the_page() -> None:
    """What the parser expects of a line, in its own words, is what the page shows."""
    for syntax in re.findall(r'format!\("\{text:\?\}"\), "(name.*?|node.*?)"', CODE):
        assert f"# {syntax}" in example(), syntax
    assert len(refused()) >= 10
