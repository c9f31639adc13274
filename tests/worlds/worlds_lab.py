"""The real side: `scdp lab` runs the lab files, and what the program and the switch's counters say is read."""

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from worlds_case import CONDITIONS, FRAME_BYTES, HERE, Measured, Transfer, replaced

UDP_BYTES = FRAME_BYTES - 42
"""The payload of a full frame: without the headers of Ethernet, IPv4 and UDP."""


class LabError(RuntimeError):
    """The lab did not run, or not all of it."""


def run(
    scdp: Path,
    transfer: Transfer,
    folder: Path,
    *,
    conditions: Sequence[str] = CONDITIONS,
    repeat: int = 5,
    changes: Sequence[tuple[str, str]] = (),
) -> dict[str, list[Measured]]:
    """Runs a lab file under these conditions, with some texts in it replaced by others."""
    folder.mkdir(parents=True)
    (folder / "lab.toml").write_text(_text(transfer, conditions, repeat, changes), encoding="utf-8")
    command = [str(scdp), "lab", "lab.toml", "-o", "lab.json", "--keep", "kept"]
    environment = {**os.environ, "SCDP": str(scdp)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}\n{done.stderr}")
    measured: dict[str, list[Measured]] = {}
    for one in json.loads((folder / "lab.json").read_text(encoding="utf-8"))["runs"]:
        said = list(_events(folder / f"kept/run-{one['run']}/output"))
        measured.setdefault(json.dumps(one["values"]), []).append(_measured(transfer, one["switch"], said))
    return dict(zip(conditions, measured.values(), strict=True))


def _text(transfer: Transfer, conditions: Sequence[str], repeat: int, changes: Sequence[tuple[str, str]]) -> str:
    """The lab file, without the rows of its sweep that are not wanted."""
    text = (HERE / f"{transfer.file}.lab.toml").read_text(encoding="utf-8")
    rows = re.findall(r"^    \[.*\],\n", text, re.MULTILINE)
    for condition, row in zip(CONDITIONS, rows, strict=True):
        if condition not in conditions:
            text = text.replace(row, "")
    return replaced(text, (("repeat = 5", f"repeat = {repeat}"), *changes))


def _measured(transfer: Transfer, switch: Mapping[str, Any], said: Sequence[Mapping[str, Any]]) -> Measured:
    ends = [event for event in said if event["event"] in {"sent", "served"}]
    seconds = [event["seconds"] for event in said if event["event"] == "received"]
    if len(ends) != len(transfer.senders) or len(seconds) != len(transfer.receivers):
        raise LabError(f"{transfer.file}: {len(ends)} senders and {len(seconds)} receivers were done")
    entered = {host: ports["port"] for host, ports in switch.items()}
    symbols = sum(event["symbols"] for event in ends)
    full = sum(event["sent_bytes"] for event in ends) // UDP_BYTES
    return Measured(
        symbols=symbols,
        pulls=sum(entered[host]["SAI_PORT_STAT_IF_IN_UCAST_PKTS"] for host in transfer.receivers),
        uplink_bytes=sum(entered[host]["SAI_PORT_STAT_IF_IN_OCTETS"] for host in transfer.senders),
        seconds=max(seconds),
        trimmed=sum(ports["data_queue"]["SAI_QUEUE_STAT_TRIM_PACKETS"] for ports in switch.values()),
        lost=sum(
            ports["data_queue"]["SAI_QUEUE_STAT_DROPPED_PACKETS"]
            + ports["header_queue"]["SAI_QUEUE_STAT_DROPPED_PACKETS"]
            + ports["link"]["lost_packets"]
            for ports in switch.values()
        ),
        # A few handshakes and keep-alives are fewer than this.
        copies=full - symbols if full - symbols > symbols // 10 else 0,
    )


def _events(folder: Path) -> Iterator[Mapping[str, Any]]:
    """What the commands printed with `--json`; the switch has a log of its own."""
    for log in sorted([*folder.glob("program-*.log"), *folder.glob("step-*.log")]):
        for line in log.read_text(encoding="utf-8").splitlines():
            if line.startswith("{"):
                yield json.loads(line)
