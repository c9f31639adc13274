"""The comparison of the simulator with real hosts (`tests/worlds`): one case in both worlds, and the page."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
import worlds_lab
import worlds_page
import worlds_sim
from worlds_case import CONDITIONS, METRICS, TRANSFERS, Measured, Runs

from worlds import PAGE, RECORD, ROOT


@pytest.fixture(scope="module")
def scdp() -> Path:
    if shutil.which("cargo") is None:
        pytest.skip("no `cargo` to build scdp with")
    # With the features of all crates' tests, so that what these have compiled is not compiled again.
    command = "cargo build --locked --message-format=json $(CRATES) --bin scdp"
    make = ["make", "--silent", "--no-print-directory", f"--eval=scdp-of-tests: ; @{command}", "scdp-of-tests"]
    built = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, f"scdp cannot be built: {built.stderr.strip()[-3000:]}"
    made = (json.loads(line) for line in built.stdout.splitlines())
    return next(Path(one["executable"]) for one in made if one.get("executable") and one["target"]["name"] == "scdp")


def test_real_hosts_do_what_the_simulator_predicts(scdp: Path, tmp_path: Path) -> None:
    transfer = TRANSFERS[0]
    try:
        real = worlds_lab.run(scdp, transfer, tmp_path / "lab", conditions=["no loss"], repeat=1)["no loss"][0]
    except worlds_lab.LabError as error:
        if any(reason in str(error) for reason in ("error: a lab needs", "is missing", "error: `ip netns add")):
            pytest.skip(f"no network namespaces: {error}")
        raise
    simulated = worlds_sim.run(transfer, "no loss", tmp_path / "sim", runs=1)[0]
    assert real.symbols == pytest.approx(simulated.symbols, rel=0.1)
    assert real.uplink_bytes == pytest.approx(simulated.uplink_bytes, rel=0.1)
    # Real hosts share the processors of a machine with everything else.
    assert 0.8 < real.seconds / simulated.seconds < 3


def record() -> worlds_page.Record:
    return worlds_page.Record.of_json(RECORD.read_text(encoding="utf-8"))


def test_the_page_is_what_its_record_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == worlds_page.page(record())


def test_the_record_is_complete_and_survives_its_file() -> None:
    found = record()
    for transfer in TRANSFERS:
        for condition in CONDITIONS:
            for world in ("real", "simulated"):
                assert found.of(transfer.name, condition, world).runs
    assert worlds_page.Record.of_json(found.as_json()) == found


def flat(real: float) -> worlds_page.Record:
    """Every count is 100 in the simulator and `real` on real hosts."""
    runs = []
    for transfer in TRANSFERS:
        for condition in CONDITIONS:
            for world, value in (("real", real), ("simulated", 100)):
                count = int(value)
                one = Measured(count, count, count, value, count, count, 0)
                runs.append(Runs(transfer.name, condition, world, "", (one, one)))
    return worlds_page.Record("test", tuple(runs))


def test_a_difference_beyond_the_tolerance_needs_a_cause() -> None:
    assert worlds_page.differences(flat(114)) == []
    found = worlds_page.differences(flat(116))
    assert len(found) == len(TRANSFERS) * len(CONDITIONS) * len(METRICS)
    unexplained = {(one.transfer, one.condition, one.metric) for one in found if one.why is None}
    assert ("one to one", "no loss", "symbols") in unexplained


def test_every_cause_is_told_with_its_numbers() -> None:
    explained = worlds_page._explained()
    assert {one["why"] for one in explained["difference"]} == set(explained["cause"])
    numbers = worlds_page._numbers(record())
    for cause in explained["cause"].values():
        assert cause["text"].format(**numbers) != cause["text"]
