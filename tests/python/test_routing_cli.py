"""``anabranch routing``: its answers, its files, its mistakes, and the page that shows it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from anabranch.running import run as running

if TYPE_CHECKING:
    from broken.forks import Forks

PAGE = Path(__file__).parents[2] / "docs/how-to/balance-a-fabric.md"
TREE = 'topology="m-port-n-tree", m=4, n=3'


def blocks(language: str) -> list[str]:
    """Blocks of the page, as they stand."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def plain(text: str) -> list[str]:
    """Lines without trailing spaces; the solver's time differs from machine to machine."""
    return [re.sub(r"\d+\.\d\d s\.", "T s.", line.rstrip()) for line in text.strip().splitlines()]


def test_the_page_shows_what_its_commands_print(tmp_path: Path) -> None:
    (table,) = blocks("csv")
    (tmp_path / "traffic.csv").write_text(table)
    shown = blocks("console")
    assert len(shown) == 2
    for block in shown:
        command, _, output = block.partition("\n")
        done = subprocess.run(
            ["bash", "-c", command.removeprefix("$ ")],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
            env={"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "LANG": "C.UTF-8"},
        )
        assert plain(done.stdout) == plain(output)


def test_python_of_the_page_runs() -> None:
    (code,) = blocks("python")
    exec(code, {})


def test_json_has_everything(forks: Forks, tmp_path: Path) -> None:
    done = forks.run(
        tmp_path,
        "routing",
        TREE,
        "-t",
        "stride:4",
        "-s",
        "nr",
        "-s",
        "mdnvr-k:4/3",
        "--worst",
        "nr",
        "--decompose",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["optimum"]["load"] == {"text": "1", "value": 1.0}
    nr = data["schemes"][0]
    assert nr["links"]["agg0.0@1-core0.0@0"] == 4
    assert nr["switches"]["core0.0@0"] == 16
    assert nr["levels"][0]["perfsw"]["text"] == "4"
    assert data["worst"]["link"]["load"]["load"]["text"] == "4"
    assert [one["load"]["load"]["text"] for one in data["worst"]["switches"]] == ["16", "8", "4"]
    assert data["decomposition"]["parts"][0]["pairs"] == 16
    assert data["decomposition"]["parts"][0]["entries"][0] == [0, 4, "1"]


def test_drawings_colour_every_link(forks: Forks, tmp_path: Path) -> None:
    done = forks.run(
        tmp_path,
        "routing",
        TREE,
        "-t",
        "stride:4",
        "-s",
        "nr",
        "--fail",
        "core1.1@0-agg3.1@1",
        "--svg",
        "a.svg",
        "--html",
        "a.html",
    )
    assert done.returncode == 0, done.stderr
    drawn = ET.parse(tmp_path / "a.svg")
    name = "{http://www.w3.org/2000/svg}line"
    titles = [line[0].text or "" for line in drawn.iter(name) if len(line)]
    assert len(titles) == 2 * 47 + 1
    assert sum(text.endswith("failed") for text in titles) == 1
    assert "agg0.0@1-core0.0@0: load 4, utilisation 4" in titles
    assert (tmp_path / "a.html").read_text().count("<svg") == 1
    # A drawing is never written over what is read.
    (tmp_path / "tm.csv").write_text("0,1,1\n")
    done = forks.run(tmp_path, "routing", TREE, "-t", "tm.csv", "--svg", "tm.csv")
    assert done.returncode == 2
    assert (tmp_path / "tm.csv").read_text() == "0,1,1\n"


def test_fabrics_come_from_scenarios_and_topology_files(forks: Forks, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('[fabric]\ntopology = "leaf-spine"\nleaves = 2\nspines = 2\nhosts_per_leaf = 2\n')
    (tmp_path / "f.fabric").write_text("[hosts]\na\nb\n[switches]\ns\n[links]\na, s\nb, s, 2Gbps\n")
    (tmp_path / "tm.csv").write_text("a,b,2.5\n")
    assert "ecmp" in forks.run(tmp_path, "routing", "s.toml", "-t", "random").stdout
    done = forks.run(tmp_path, "routing", "f.fabric", "-t", "tm.csv", "-s", "ecmp")
    assert "ecmp is optimal on this traffic: MLOAD 5/2" in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (TREE, "-t", "stride"),
            'error: traffic "stride": no number after stride: expected a whole number from 1\nhint: stride:4\n',
        ),
        ((TREE, "-t", "random", "-s", "ecpm"), "hint: did you mean ecmp?\n"),
        (
            (TREE, "-t", "bad.csv"),
            'error: bad.csv:2: "x" is no host of this fabric: expected a name, or a number from 0 to 15\n',
        ),
        ((TREE, "-t", "random", "--fail", "a-b"), 'error: there is no link "a-b" in this fabric'),
        (("none.toml", "-t", "random"), "error: cannot read none.toml: No such file or directory"),
        ((TREE, "-t", "random", "-s", "nr", "-s", "nr"), "error: scheme nr is asked for twice\n"),
    ],
)
def test_mistakes_end_with_a_message(arguments: tuple[str, ...], message: str, forks: Forks, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("source,destination,amount\nx,h1,1\n")
    done = forks.run(tmp_path, "routing", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_simulator_takes_the_weights_that_are_written(forks: Forks, tmp_path: Path) -> None:
    fabric = 'topology="leaf-spine", leaves=4, spines=2, hosts_per_leaf=2'
    paths = tmp_path / "paths.csv"
    result = forks.run(tmp_path, "routing", fabric, "--traffic", "stride:2", "--weights", str(paths))
    assert result.returncode == 0, result.stderr
    lines = paths.read_text().splitlines()
    assert lines[0] == "source,destination,path,weight"
    shares: dict[tuple[str, str], float] = {}
    for line in lines[1:]:
        source, destination, path, weight = line.split(",")
        assert len(path.split()) == 3
        shares[source, destination] = shares.get((source, destination), 0.0) + float(weight)
    assert len(shares) == 8
    assert all(share == pytest.approx(1) for share in shares.values())
    scenario = tmp_path / "weighted.toml"
    scenario.write_text(
        """
fabric = { topology = "leaf-spine", leaves = 4, spines = 2, hosts_per_leaf = 2 }
routing = { mode = "weighted", weighted = { file = "paths.csv" } }
transport = { name = "newreno" }
[[workload]]
sizes = { law = "fixed", size = "100KB" }
placement = { pattern = "stride", by = 2 }
"""
    )
    results = running.run(scenario, out=tmp_path / "out")
    assert all(one.complete for one in results.manifest.runs)
