"""The measurements beside other simulators (`benches/htsim`, `benches/hpcc`): the same flows, over paths as long."""

import runpy
import subprocess
import sys
from collections import Counter, defaultdict, deque
from pathlib import Path
from typing import Any

import peers
import pytest
from htsim_case import World, pairs

import anabranch

BENCHES = Path(peers.__file__).parent


def script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(BENCHES / name))


def distances(links: list[tuple[int, int]], source: int) -> dict[int, int]:
    """Links of the shortest paths from a node."""
    beside = defaultdict(list)
    for a, b in links:
        beside[a].append(b)
        beside[b].append(a)
    found, todo = {source: 0}, deque([source])
    while todo:
        now = todo.popleft()
        for node in beside[now]:
            if node not in found:
                found[node] = found[now] + 1
                todo.append(node)
    return found


@pytest.mark.parametrize("k", [4, 8])
def test_packet_hops_are_packets_times_the_links_of_the_fat_tree(k: int) -> None:
    world = World(k=k, packets={"permutation": 3})
    case = peers.Case(world, "", lambda told: told, lambda _program, _folder: peers.Run(0, []))
    links = list(script("hpcc")["links"](world))
    hops = sum(distances(links, a)[b] for a, b in pairs("permutation", peers.SEED, world))
    assert case.packet_hops() == 3 * hops


def test_the_fat_tree_of_hpccs_simulator_has_the_ports_that_it_should() -> None:
    counts, switches, *links = script("hpcc")["topology"](World(k=4)).splitlines()
    assert counts == "36 20 48"
    assert switches.split() == [str(node) for node in range(16, 36)]
    ports = Counter(node for line in links for node in line.split()[:2])
    assert Counter(ports.values()) == {1: 16, 4: 20}


@pytest.mark.parametrize("name", ["htsim", "hpcc"])
def test_a_program_that_is_not_there_is_told_with_a_hint(name: str, tmp_path: Path) -> None:
    command = [sys.executable, str(BENCHES / name), str(tmp_path / "nothing")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert f"{tmp_path / 'nothing'} is no program\n  hint: build " in done.stderr


def test_the_cases_are_scenarios(tmp_path: Path) -> None:
    (tmp_path / "matrix.cm").write_text("Nodes 128\nConnections 1\n0->1 id 1 start 0 size 4096\n")
    cases = script("htsim")["cases_of_transports"]() | {
        name: script("hpcc")["case"](name) for name in ("hpcc", "dcqcn")
    }
    for name, case in cases.items():
        if case.world.k == 8:
            (tmp_path / "one.toml").write_text(case.scenario)
            run = anabranch.run(tmp_path / "one.toml", out=tmp_path / name)
            assert run.flows["fct_ns"].to_list() > [0]
