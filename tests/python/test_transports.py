"""``anabranch transports``: what it lists, and what it says of one."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import anabranch
from anabranch.base import styles

if TYPE_CHECKING:
    from broken.forks import Forks

ROOT = Path(__file__).parents[2]


def test_each_has_a_style_and_a_page_that_speaks_of_it() -> None:
    every = anabranch.transports()
    assert {one.name for one in every} <= set(styles.TRANSPORTS)
    for one in every:
        text = (ROOT / one.page).read_text(encoding="utf-8")
        label = styles.TRANSPORTS[one.name].label
        assert re.search(f"{re.escape(one.name)}|{re.escape(label)}", text, re.IGNORECASE), one


def test_the_table_has_a_line_for_each(forks: Forks, tmp_path: Path) -> None:
    done = forks.run(tmp_path, "transports")
    assert done.returncode == 0
    for one in anabranch.transports():
        assert re.search(rf"^ ?{re.escape(one.name)} .*{one.queue} +{one.routing}", done.stdout, re.MULTILINE)


def test_one_is_told_whole(forks: Forks, tmp_path: Path) -> None:
    done = forks.run(tmp_path, "transports", "NDP")
    assert done.stdout.startswith("ndp: Receiver-driven over trimming switches.\n  driven by  the receiver's pulls\n")
    assert "queue = trim: " in done.stdout
    assert "docs/fidelity/ndp.md" in done.stdout
    roce = forks.run(tmp_path, "transports", "timely").stdout
    assert "[switch.pfc]" in roce
    assert "[switch.pfc]" not in done.stdout
    assert "(INT)" not in roce
    assert "(INT)" in forks.run(tmp_path, "transports", "hpcc").stdout
    (one,) = json.loads(forks.run(tmp_path, "transports", "scdp", "--json").stdout)
    assert one["groups"]
    assert one["queue"] == "mlfq-trim"


def test_presets_are_told_with_their_sources(forks: Forks, tmp_path: Path) -> None:
    text = forks.run(tmp_path, "transports", "hpcc").stdout
    assert "hpcc-100g, 100Gbps: HPCC as its authors simulate it at 100 Gbps\n" in text
    assert "from alibaba-edu/High-Precision-Congestion-Control at 9f4be2a: simulation/run.py --cc hp" in text
    (one,) = json.loads(forks.run(tmp_path, "transports", "hpcc", "--json").stdout)
    assert [preset["name"] for preset in one["presets"]] == ["hpcc-25g", "hpcc-100g"]
    assert one["presets"][1]["keys"]["switch"]["shared_buffer"] == "32MiB"
    assert "presets" not in forks.run(tmp_path, "transports", "udp").stdout
    assert "hpcc-100g" in forks.run(tmp_path, "transports").stdout


@pytest.mark.parametrize(("given", "hint"), [("dctpc", "did you mean dctcp?"), ("xyzzy", "there are scdp, ndp, ")])
def test_a_name_that_does_not_exist(forks: Forks, tmp_path: Path, given: str, hint: str) -> None:
    done = forks.run(tmp_path, "transports", given)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: no transport is named '{given}'\nhint: {hint}")
