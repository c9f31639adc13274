"""The simulator beside the kernel's own TCP (`tests/linux`): its labs, a run of a few seconds, the page."""

import re
import shutil
import subprocess
import tomllib
from dataclasses import replace
from pathlib import Path

import linux_lab
import linux_page
import pytest
from linux_case import AVERAGED, EXACT, EXPERIMENTS, LINUX, MININET, OFFLOADED, ROOT, RULES, Case
from linux_sim import run as simulate

from linux import PAGE, RECORD

BLOCK = Case("song", "reno", 2, 100, 0, 40, 2_000_000, requests=2)
"""Two senders behind a queue that drops: htb, bfifo and Reno, which any kernel with namespaces has."""

NOT_HERE = re.compile(
    r"^(error: (a lab needs|`\w+` is missing|`ip netns add)|hint: this kernel may lack|  \| the kernel has no)",
    re.MULTILINE,
)
"""Lines that tell of a host where no such lab can run. Whatever else fails is an error."""


@pytest.fixture(scope="module")
def scdp() -> Path:
    built = ROOT / "target/debug/scdp"
    command = ["cargo", "build", "--locked", "-p", "scdp-cli"]
    if shutil.which("cargo") is None:
        pytest.skip("no `cargo` to build scdp with")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"scdp cannot be built: {done.stderr.strip()[-3000:]}"
    return built


def adaptation(layout: str) -> dict[str, object]:
    """The lab of Joy's DCTCP at K = 3."""
    case = Case("adaptation", "dctcp", 2, 100, 150, 25, 1_000_000, 3, layout)
    return tomllib.loads(linux_lab.text(case, 5))


def test_the_dumbbell_has_the_queue_at_the_receiver_only() -> None:
    lab = adaptation(EXACT)
    assert lab["switch"] == {"kind": "bridge", "offload": False, "up": ["netem delay 300us rate 100mbit limit 10000"]}
    assert lab["hosts"] == {
        "s1": {},
        "s2": {},
        "r": {
            "link": {
                "down": [
                    "htb rate 100mbit burst 1600 cburst 1600",
                    "red limit 37850 min 4542 max 4543 avpkt 1514 burst 3 bandwidth 100mbit probability 1 ecn",
                ]
            }
        },
    }


def test_the_dumbbell_of_mininet_has_its_line_at_every_end() -> None:
    chain = [
        "htb rate 100mbit burst 15k",
        "red limit 1000000 min 4500 max 4501 avpkt 1500 burst 20 bandwidth 100mbit probability 1 ecn",
        "netem delay 150us limit 25",
    ]
    for layout in (MININET, OFFLOADED):
        lab = adaptation(layout)
        assert lab["switch"] == {"kind": "bridge", "offload": layout == OFFLOADED, "down": chain, "up": chain}


@pytest.mark.parametrize(("mark", "weight"), [(3, 1 / 128), (5, 1 / 64), (10, 1 / 16), (20, 1 / 2)])
def test_the_weight_is_that_of_tc(mark: int, weight: float) -> None:
    """By hand: the least n for which 20 + 1 - K is at most 2^n (1 - (1 - 2^-n)^20)."""
    case = Case("adaptation", "dctcp", 2, 100, 150, 25, 1, mark, AVERAGED)
    assert case.red_weight == weight
    assert replace(case, layout=EXACT).red_weight == 1 / 2


def test_the_kernel_takes_as_long_as_the_simulator_says(scdp: Path, tmp_path: Path) -> None:
    try:
        (real,) = linux_lab.run(scdp, [BLOCK], tmp_path / "lab", repeat=1, kernel=None)[BLOCK.key]
    except linux_lab.LabError as error:
        if NOT_HERE.search(str(error)):
            pytest.skip(f"no network namespaces, or not these modules: {error}")
        raise
    (simulated,) = simulate(BLOCK, tmp_path / "sim", seeds=1, rules=LINUX)
    # Other programs share the processors. The simulator's senders keep step: one may always find the queue full.
    assert 0.5 * simulated.mbps < real.mbps < 1.02 * BLOCK.capacity
    assert 0.6 * BLOCK.capacity < simulated.mbps <= BLOCK.capacity
    assert [len(flows) for flows in real.flows] == [2, 2]
    # The link carries no more, and a request follows the one before.
    assert min(real.seconds) > 2 * BLOCK.size * 8e-6 / BLOCK.capacity * 0.95
    first, second = real.flows
    assert max(end for _, end in first) < min(start for start, _ in second)


@pytest.mark.parametrize(
    "said", ["error: `tc` is missing", "error: a lab needs the rights", "error: x\nhint: this kernel may lack a module"]
)
def test_a_host_without_labs_is_known_by_the_beginning_of_a_line(said: str) -> None:
    assert NOT_HERE.search(f"scdp lab: exit code 1\n{said}\n")
    assert not NOT_HERE.search(f"scdp lab: exit code 1\n  | it says: {said.replace(chr(10), ' ')}\n")


def test_a_lab_that_did_not_watch_its_queue_is_an_error() -> None:
    flows = [{"start": 0.0, "end": 1.0}]
    said: dict[str, list[dict[str, object]]] = {"r": [{"event": "fetched", "flows": flows}] * BLOCK.requests}
    with pytest.raises(linux_lab.LabError, match=r"told of the queue 0 times"):
        linux_lab.measured(BLOCK, said, 1)
    with pytest.raises(linux_lab.LabError, match=r"0 of 2 requests"):
        linux_lab.measured(BLOCK, {}, 1)


def test_the_record_has_results_of_one_kernel() -> None:
    old = linux_page.Record({"kernel": "6.1"}, {"a": [], "b": []}, {"a": []})
    assert old.measured_with({"kernel": "6.1"}, ["a"]) == old
    with pytest.raises(linux_page.OtherKernelError, match=r"1 results .*6\.1.*6\.2.*first is b"):
        old.measured_with({"kernel": "6.2"}, ["a"])
    assert old.measured_with({"kernel": "6.2"}, ["a", "b"]) == linux_page.Record({"kernel": "6.2"}, {}, {"a": []})


def test_a_run_that_collapses_is_told_apart() -> None:
    lower, upper = linux_page.thresholds("ecn-star", 2, MININET)
    low, high = ([{"mbps": value} for value in values] for values in ((0.5, 80.0, 80.0, 80.0, 80.0), (88.0,) * 5))
    told = linux_page.Record({}, {lower.key: low, upper.key: high}, {})
    assert linux_page.collapsed(told, "ecn-star", 2, MININET) == [0.5]
    assert linux_page.gain_of_others(told, "ecn-star", 2, MININET) == pytest.approx(10)


def record() -> linux_page.Record:
    return linux_page.Record.of_json(RECORD.read_text(encoding="utf-8"))


def test_the_page_is_what_its_record_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == linux_page.page(record())


def test_the_record_is_complete_and_survives_its_file() -> None:
    found = record()
    assert not found.missing()
    for cases in EXPERIMENTS.values():
        for case in cases():
            assert {len(found.runs(case, rules)) for rules in (None, *RULES)} == {5}
    assert linux_page.Record.of_json(found.as_json()) == found
