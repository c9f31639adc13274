"""Packet captures: tshark dissects them without complaint, and what it counts is what the simulator counts."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import howtos
import pytest

import anabranch
from anabranch import load, traffic
from anabranch.running import run as running

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anabranch import Results

LUA = howtos.ROOT / "tools/wireshark/anabranch.lua"

needs_tshark = pytest.mark.skipif(shutil.which("tshark") is None, reason="needs tshark (Wireshark's command line)")

SCENARIO = """
name = "captured"
fabric = { topology = "star", hosts = 4 }
transport = { name = "newreno" }
switch = { buffer = "20 packets" }
measure = { packets = ["h0", "h1", "h2", "h3", "edge0-h0"] }

[[workload]]
sizes = { law = "fixed", size = "100KB" }
placement = { pattern = "incast", senders = 3, receiver = 0 }
"""

WARNING, ERROR = 0x00600000, 0x00800000
"""Severities of tshark's expert information (``epan/proto.h``)."""

CHECKS = [option for name in ("ip", "tcp", "udp") for option in ("-o", f"{name}.check_checksum:TRUE")]


@dataclass
class Ran:
    """A run with captures."""

    results: Results

    @property
    def packets(self) -> Path:
        return self.results.folder / "runs/p000-s1/packets"

    def capture(self, port: str) -> Path:
        return self.packets / f"{port}.pcapng"

    def link(self, source: str, destination: str) -> dict[str, int]:
        (row,) = self.results.links.filter(src=source, dst=destination).to_dicts()
        return row


def run(folder: Path, *overrides: str) -> Ran:
    folder.mkdir(parents=True, exist_ok=True)
    scenario = folder / "captured.toml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    return Ran(running.run(scenario, overrides, out=folder / "out"))


def tshark(file: Path, *words: str, wanted: str = "", lua: bool = True) -> str:
    """What tshark prints of a capture."""
    script = ["-X", f"lua_script:{LUA}"] if lua else []
    wish = ["-Y", wanted] if wanted else []
    done = subprocess.run(
        ["tshark", "-n", *script, *CHECKS, "-r", file, *wish, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
        env={**os.environ, "WIRESHARK_CONFIG_DIR": "/nonexistent"},
    )
    assert "Lua" not in done.stderr, done.stderr
    return done.stdout


def fields(file: Path, *names: str, wanted: str = "") -> list[tuple[str, ...]]:
    """Fields of all packets that are wanted."""
    words = ["-T", "fields", *(word for name in names for word in ("-e", name))]
    return [tuple(line.split("\t")) for line in tshark(file, *words, wanted=wanted).splitlines()]


def complaints(file: Path) -> list[str]:
    """Warnings and errors of tshark, but for those that say what really happened: losses and retransmissions.

    It takes the ACK of a FIN for one of something unseen where the FIN came with a retransmission of data that had been
    sent without it.
    """
    told = "_ws.expert.message"
    rows = fields(file, "frame.number", told, wanted=f"_ws.malformed or _ws.expert.severity >= {WARNING}")
    true = re.compile(
        r"out-of-order segment|Previous segment\(s\) not captured|Connection reset|FIN.*ACKed segment that wasn't"
    )
    return [f"{number}: {message}" for number, message in rows if not true.search(message)]


@needs_tshark
@pytest.mark.parametrize(
    "overrides",
    [
        [],
        ["transport.tcp.sack=true", "transport.tcp.receive_window=1MB"],
        ["transport.name=dctcp"],
        ["transport.name=hull"],
        ["transport.name=pfabric"],
        ["transport.name=mptcp", "transport.tcp.sack=true"],
        ["transport.name=front-back"],
        ["transport.name=udp"],
        ["transport.name=ndp"],
        ["transport.name=ndp", "switch.header_buffer=2KB", "transport.ndp.return_to_sender=true"],
        ["transport.name=scdp"],
        ["transport.name=pias"],
        ["transport.tcp.handshake=false"],
        ["switch.queue=trim", "transport.name=dctcp"],
    ],
    ids=" ".join,
)
def test_tshark_has_nothing_to_complain_about(tmp_path: Path, overrides: Sequence[str]) -> None:
    ran = run(tmp_path, *overrides)
    files = sorted(ran.packets.iterdir())
    assert len(files) >= 5
    for file in files:
        assert complaints(file) == [], file.name
        assert not fields(file, "frame.number", wanted="ip.checksum.status == 0"), "no wrong checksum"


@needs_tshark
@pytest.mark.parametrize("transport", ["newreno", "dctcp", "cubic", "front-back"])
def test_retransmissions_are_those_that_the_simulator_counts(tmp_path: Path, transport: str) -> None:
    ran = run(tmp_path, f"transport.name={transport}")
    lossy = 0
    for host in (1, 2, 3):
        # Wireshark calls a retransmission within a round trip of what is beyond it "out of order".
        again = " or ".join(f"tcp.analysis.{name}" for name in ("retransmission", "out_of_order"))
        file = ran.capture(f"h{host}-edge0")
        payload = "(tcp.len > 0 or tcp.flags.fin == 1)"
        seen = fields(file, "frame.number", wanted=f"ip.src == 10.0.0.{host + 1} and {payload} and ({again})")
        data = fields(file, "frame.number", wanted=f"ip.src == 10.0.0.{host + 1} and tcp.len > 0")
        (flow,) = ran.results.flows.filter(src_host=host).to_dicts()
        assert (len(data), len(seen)) == (flow["packets_sent"], flow["packets_retransmitted"])
        lossy += flow["packets_retransmitted"]
    assert lossy > 0


@needs_tshark
def test_sequence_numbers_cover_a_flow(tmp_path: Path) -> None:
    ran = run(tmp_path, "transport.tcp.sack=true")
    for host in (1, 2, 3):
        rows = fields(ran.capture(f"h{host}-edge0"), "tcp.seq", "tcp.len", wanted=f"ip.src == 10.0.0.{host + 1}")
        have = bytearray(100_000)
        for seq, length in ((int(seq), int(length)) for seq, length in rows):
            have[seq - 1 : seq - 1 + length] = b"x" * length
        assert have == b"x" * 100_000
    blocks = fields(ran.capture("h0-edge0"), "tcp.options.sack.count", wanted="tcp.options.sack.count")
    assert {int(count) for (count,) in blocks} <= {1, 2, 3}
    assert blocks, "a run with losses"


@needs_tshark
def test_marks_trims_and_drops_can_be_seen(tmp_path: Path) -> None:
    ran = run(tmp_path / "dctcp", "transport.name=dctcp")
    link = ran.link("edge0", "h0")
    file = ran.capture("edge0-h0")
    comments = [comment for (comment,) in fields(file, "frame.comment", wanted="frame.comment")]
    assert comments == ["CE mark set by the queue of edge0-h0"] * link["marked"]
    assert len(fields(file, "frame.number", wanted="ip.dsfield.ecn == 3")) == link["marked"] > 0
    dropped = fields(ran.packets / "edge0-h0.dropped.pcapng", "frame.comment")
    assert dropped == [("dropped by the queue of edge0-h0",)] * link["dropped"]
    told = fields(file, "frame.drop_count", wanted="frame.drop_count")
    assert sum(int(count) for (count,) in told) == link["dropped"] > 0
    names = fields(file, "frame.interface_name", wanted="ip.dst == 10.0.0.1")
    assert {name for (name,) in names} == {"edge0-h0"}

    ran = run(tmp_path / "ndp", "transport.name=ndp")
    link = ran.link("edge0", "h0")
    comments = [comment for (comment,) in fields(ran.capture("edge0-h0"), "frame.comment", wanted="frame.comment")]
    assert comments == ["trimmed by the queue of edge0-h0"] * link["trimmed"]
    assert comments


@needs_tshark
@pytest.mark.parametrize("transport", ["ndp", "scdp"])
def test_the_dissector_shows_what_the_simulator_counts(tmp_path: Path, transport: str) -> None:
    ran = run(tmp_path, f"transport.name={transport}")
    rows = fields(
        ran.capture("h0-edge0"), "anabranch.session", "anabranch.kind", "anabranch.trimmed", "anabranch.payload"
    )
    assert all(all(row) for row in rows), "every packet is dissected"
    data = [row for row in rows if row[1] == "1"]
    flows = ran.results.flows.sort("session")
    for session, sent, trimmed in flows.select("session", "packets_sent", "packets_trimmed").iter_rows():
        own = [row for row in data if int(row[0]) == session]
        assert len(own) == sent
        assert sum(row[2] in {"1", "True"} for row in own) == trimmed
    payload = [int(row[3]) for row in data if row[2] in {"0", "False"}]
    assert sum(payload) >= 3 * 100_000
    assert {*payload} == {1436, 100_000 % 1436}
    protocols = {name for (name,) in fields(ran.capture("h0-edge0"), "_ws.col.Protocol")}
    assert protocols == {transport.upper()}
    # Trimmed headers tell what they were cut from.
    assert {row[3] for row in data if row[2] in {"1", "True"}} <= {"1436", str(100_000 % 1436)}
    # Without the script they are UDP.
    plain = tshark(ran.capture("h0-edge0"), "-T", "fields", "-e", "udp.length", lua=False).split()
    assert set(plain) >= {"44", "1480"}


@pytest.mark.parametrize("transport", ["newreno", "dctcp", "mptcp", "ndp", "scdp", "udp"])
def test_our_own_reader_gets_the_volumes_of_the_links(tmp_path: Path, transport: str) -> None:
    ran = run(tmp_path, f"transport.name={transport}")
    for host in range(4):
        name = f"h{host}"
        binned = traffic.bin_files(ran.capture(f"{name}-edge0"), ["1ms"], direction="split")
        volumes = {volumes.name.rpartition(" ")[2]: volumes for volumes in binned}
        for way, link in (("out", ran.link(name, "edge0")), ("in", ran.link("edge0", name))):
            if not link["packets"]:
                continue
            own = next(series for key, series in volumes.items() if key.endswith(way))
            assert int(own.bytes.sum()) == link["bytes"], (name, way)
            assert own.packets is not None
            assert int(own.packets.sum()) == link["packets"]
        assert binned.files[0].out_of_order == 0


def test_a_run_says_where_captures_are_and_what_cut_them(tmp_path: Path) -> None:
    scenario = tmp_path / "captured.toml"
    scenario.write_text(SCENARIO, encoding="utf-8")
    command = [sys.executable, "-m", "anabranch", "run", str(scenario), "--out", str(tmp_path / "out"), "--no-report"]
    words = ["measure.packets_limit=100 packets", "repeat=2"]
    done = subprocess.run([*command, *words], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    told = " ".join(done.stderr.split())
    assert re.search(r"captures: \S+/out/runs/\*/packets: \d+ packets in \d+ files", told), told
    assert "h0-edge0.pcapng reached its limit at" in told
    assert "hint: in [measure], packets_limit sets another limit" in told
    results = load(tmp_path / "out")
    first = results.manifest.runs[0].captures[0]
    assert (first.file, first.links, first.packets) == ("packets/h0-edge0.pcapng", ("h0-edge0", "edge0-h0"), 100)
    assert first.full_at_ns is not None
    bad = subprocess.run([*command, 'measure.packets=["h0", "h9"]'], capture_output=True, text=True, check=False)
    assert bad.returncode == 2
    assert 'measure.packets[1]: the fabric has no node "h9" here' in bad.stderr
    assert "hint: did you mean" in bad.stderr


PAGE = howtos.ROOT / "docs/how-to/capture-packets.md"


@needs_tshark
def test_the_page_is_true(tmp_path: Path) -> None:
    """Every command of the page prints what the page shows."""
    text = PAGE.read_text(encoding="utf-8")
    blocks = howtos.blocks(text)
    (scenario,) = (block.code for block in blocks if block.language == "toml" and "[[workload]]" in block.code)
    (tmp_path / "incast.toml").write_text(scenario, encoding="utf-8")
    (tmp_path / "tools").symlink_to(howtos.ROOT / "tools")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "200", "HOME": str(tmp_path)}
    shown = 0
    for block in blocks:
        if block.language != "console":
            continue
        for command, printed in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.code, re.MULTILINE):
            done = subprocess.run(
                ["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, (command, done.stderr)
            lines = [" ".join(line.split()) for line in (done.stdout + done.stderr).splitlines()]
            for line in printed.splitlines():
                if line.strip() != "...":
                    assert " ".join(line.split()) in lines, (command, line, lines)
                    shown += 1
    assert shown > 10


def test_a_folder_with_captures_is_written_again(tmp_path: Path) -> None:
    file = tmp_path / "again.toml"
    file.write_text(
        'fabric = { topology = "star", hosts = 3, rate = "1Gbps", delay = "10us" }\n'
        'transport = { name = "ndp" }\n'
        'measure = { packets = ["h0"] }\n'
        "[[workload]]\n"
        'sizes = { law = "fixed", size = "10KB" }\n'
        'placement = { pattern = "pairs", pairs = [[0, 1]] }\n'
    )
    first = anabranch.run(file, out=tmp_path / "r")
    (capture,) = (tmp_path / "r").glob("runs/*/packets/*.pcapng")
    before = capture.read_bytes()
    for resume, force in ((False, False), (True, False), (False, True)):
        results = anabranch.run(file, out=tmp_path / "r", resume=resume, force=force)
        assert results.runs["fingerprint"].to_list() == first.runs["fingerprint"].to_list()
        assert capture.read_bytes() == before
    other = anabranch.run(file, ["transport.name=newreno"], out=tmp_path / "r", force=True)
    assert other.runs["transport"].to_list() == ["newreno"]
    (capture.parent / "mine.txt").write_text("keep me")
    with pytest.raises(anabranch.AnabranchError, match=r"packets/mine\.txt"):
        anabranch.run(file, out=tmp_path / "r", force=True)
