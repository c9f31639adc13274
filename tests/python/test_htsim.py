"""The comparison with csg-htsim (`tests/htsim`): its matrices, a run of ours, its page."""

import re
import tomllib
from pathlib import Path

import htsim_page
import pytest
from htsim_case import CASES, HOSTS, PACKETS, SENDERS, Case, World, matrix, options, scenario

import anabranch
from htsim import PAGE, RECORD, HtsimError, called


def record() -> htsim_page.Record:
    return htsim_page.Record.of_json(RECORD.read_text(encoding="utf-8"))


def test_the_page_is_that_of_the_record() -> None:
    assert PAGE.read_text(encoding="utf-8") == htsim_page.page(record())
    assert set(record().rows) == {f"{case.name}, {kind}" for kind in PACKETS for case in CASES}


def test_no_sentence_of_the_page_lacks_its_number() -> None:
    assert not re.search(r"\{\w+ ", PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", PACKETS)
def test_matrices_have_each_sender_once_and_nobody_sends_to_itself(kind: str) -> None:
    for seed in range(1, 6):
        pairs = [tuple(map(int, pair)) for pair in re.findall(r"(\d+)->(\d+)", matrix(kind, seed))]
        assert all(a != b for a, b in pairs)
        assert len({a for a, _ in pairs}) == len(pairs) == (SENDERS if kind == "incast" else HOSTS)


def test_a_ring_goes_round() -> None:
    world = World(k=4, packets={"ring": 2}, steps=3)
    text = matrix("ring", 1, world)
    ends = [tuple(map(int, pair)) for pair in re.findall(r"(\d+)->(\d+)", text)]
    begins = re.findall(r"id \d+ (start 0|trigger \d+) size 8192(?: send_done_trigger (\d+))?", text)
    assert len(ends) == len(begins) == 3 * world.hosts
    for n, (begin, calls) in enumerate(begins):
        last = n % 3 == 2
        assert (begin, calls) == ("start 0" if n % 3 == 0 else f"trigger {n}", "" if last else str(n + 1))
        assert last or ends[n][1] == ends[n + 1][0], "whoever has got a chunk sends it on"
    firsts = ends[::3]
    assert sorted(first for first, _ in firsts) == list(range(world.hosts)), "every host has a chunk"
    assert f"Triggers {2 * world.hosts}\n" in text
    assert text.count("oneshot") == 2 * world.hosts


def test_both_read_the_same_matrix(tmp_path: Path) -> None:
    file = tmp_path / "matrix.cm"
    for case in CASES:
        said = options(case, file, "incast", 3)
        assert said[said.index("-tm") + 1] == tomllib.loads(scenario(case, file))["workload"][0]["trace"]["file"]


@pytest.mark.parametrize("case", [case for case in CASES if not case.repaired], ids=lambda case: case.name)
def test_ours_is_as_recorded(case: Case, tmp_path: Path) -> None:
    file = tmp_path / "matrix.cm"
    file.write_text(matrix("incast", 1))
    (tmp_path / "incast.toml").write_text(scenario(case, file))
    run = anabranch.run(tmp_path / "incast.toml", out=tmp_path / "out")
    recorded = record().rows[f"{case.name}, incast"].ours[0]
    assert sorted(time / 1e3 for time in run.flows["fct_ns"].to_list()) == pytest.approx(recorded, abs=0.051)


def test_how_far_apart_times_are() -> None:
    times = htsim_page.Times(theirs=[[10.0, 30.0]], ours=[[11.0, 33.0]])
    assert times.apart() == pytest.approx(0.1)


def test_a_program_that_fails_says_what_it_said(tmp_path: Path) -> None:
    with pytest.raises(HtsimError, match=r"failed with 3:\nbroken"):
        called(tmp_path, "sh", "-c", "echo broken; exit 3")
