"""The kernel's side: a lab file for each case, run by `scdp lab` on the host or in a machine of tools/linux-vm."""

import json
import shlex
import subprocess
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from linux_case import FRAME, HERE, MININET, OFFLOADED, ROOT, Case, Measured

VM = ROOT / "tools/linux-vm/run"

LAB = """\
name = {name}

[switch]
kind = "bridge"
{switch}

[sysctl]
"net.ipv4.tcp_ecn" = {ecn}
"net.ipv4.tcp_no_metrics_save" = 1
{window}{sysctl}
{hosts}
{receiver}

[[program]]
on = {senders}
command = ["python3", {load}, "serve", "--congestion", "{congestion}"]
ready = "listening"

[[program]]
on = "switch"
command = ["python3", {watch}, "r", "--every", "{every}"]
ready = "watching"

[[step]]
on = "r"
command = [
    "python3", {load}, "fetch", "--from", "{addresses}", "--congestion", "{congestion}", "--bytes", "{size}",
    "--repeat", "{repeat}", "--jitter", "{jitter}", "--seed", "{{seed}}",
]
time_limit = "600s"
"""


WINDOW = '"net.ipv4.tcp_rmem" = "4096 6291456 6291456"\n'
"""A receive window that may have its full size at once: its tuning by the kernel (DRS) is not compared."""


class LabError(RuntimeError):
    """The lab did not run, or not all of it."""


def disciplines(case: Case) -> list[str]:
    """What leads to the receiver, in the words of tc."""
    limit, rate = case.buffer * FRAME, f"{case.rate}mbit"
    if case.layout in {MININET, OFFLOADED}:
        # mininet/link.py, `bwCmds` and `delayCmds`, with the thresholds of the thesis for its 30000 and 35000.
        assert case.mark is not None
        least = case.mark * 1500
        red = f"red limit 1000000 min {least} max {least + 1} avpkt 1500 burst 20 bandwidth {rate} probability 1 ecn"
        return [f"htb rate {rate} burst 15k", red, f"netem delay {case.delay}us limit {case.buffer}"]
    shaper = f"htb rate {rate} burst {FRAME + 86} cburst {FRAME + 86}"
    if case.mark is None:
        return [shaper, f"bfifo limit {limit}"]
    least = case.mark * FRAME
    red = f"red limit {limit} min {least} max {least + 1} avpkt {FRAME} burst {case.red_burst} bandwidth {rate}"
    return [shaper, f"{red} probability 1 ecn"]


def text(case: Case, repeat: int) -> str:
    """The lab file of a case. Its repetitions follow each other in one network, each with new connections."""
    senders = [f"s{number}" for number in range(1, case.senders + 1)]
    offload = f"offload = {json.dumps(case.layout == OFFLOADED)}"
    if case.layout in {MININET, OFFLOADED}:
        # Every end of every link is the same there.
        switch = f"{offload}\ndown = {json.dumps(disciplines(case))}\nup = {json.dumps(disciplines(case))}"
        receiver = "[hosts.r]"
    else:
        # Both links of a way are delayed where it begins: netem is no part of the queue that is measured.
        # Without a delay, a kernel without netem does.
        up = (
            f"netem delay {2 * case.delay}us rate {case.rate}mbit limit 10000"
            if case.delay
            else f"htb rate {case.rate}mbit"
        )
        switch = f"{offload}\nup = {json.dumps([up])}"
        receiver = f"[hosts.r]\nlink = {{ down = {json.dumps(disciplines(case))} }}"
    return LAB.format(
        name=json.dumps(case.key),
        repeat=case.requests * repeat,
        switch=switch,
        # 1: asks for it and grants it. DCTCP does so whatever this says.
        ecn=int(case.mark is not None),
        window=WINDOW if case.requests > 1 else "",
        sysctl="".join(f"{json.dumps(name)} = {value}\n" for name, value in case.sysctl.items()),
        hosts="\n".join(f"[hosts.{name}]" for name in senders),
        receiver=receiver,
        senders=json.dumps(senders),
        load=json.dumps(str(HERE / "load.py")),
        watch=json.dumps(str(HERE / "watch_queue.py")),
        congestion="dctcp" if case.transport == "dctcp" else "reno",
        addresses=",".join(f"{{{name}}}" for name in senders),
        size=case.size,
        jitter=case.jitter,
        # Of blocks the queue is not looked at.
        every=case.sample if case.requests == 1 else 1,
    )


def command(words: Sequence[str], folder: Path, kernel: Path | None) -> str:
    """Runs a command in a folder, in a virtual machine if there is a kernel for one, and returns what it prints."""
    folder.mkdir(parents=True, exist_ok=True)
    whole = list(words) if kernel is None else [str(VM), str(kernel), str(folder), *words]
    done = subprocess.run(whole, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LabError(f"{' '.join(whole)}: exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
    return done.stdout


def describe(folder: Path, *, kernel: Path | None) -> dict[str, str]:
    """The kernel and iproute2 that it was measured with."""
    # The console of the virtual machine says more than that.
    command(["sh", "-c", "(uname -r; tc -V) > said"], folder, kernel)
    release, iproute = (folder / "said").read_text(encoding="utf-8").splitlines()
    where = "of the machine itself" if kernel is None else "user-mode Linux in virtual time (tools/linux-vm)"
    return {"kernel": release, "iproute2": iproute, "where": where}


def run(
    scdp: Path, cases: Sequence[Case], folder: Path, *, repeat: int, kernel: Path | None
) -> dict[str, list[Measured]]:
    """Runs cases, by their keys, in one virtual machine, or on the host if there is no kernel for one.

    Raises:
        LabError: What the lab said that did not run.
    """
    folder.mkdir(parents=True)
    for number, case in enumerate(cases):
        (folder / f"{number}.toml").write_text(text(case, repeat), encoding="utf-8")
    program = shlex.quote(str(scdp))
    each = f"for number in $(seq 0 {len(cases) - 1}); do {program} lab $number.toml -o $number.json || exit 1; done"
    command(["bash", "-c", each], folder, kernel)
    read = (
        (case, json.loads((folder / f"{number}.json").read_text(encoding="utf-8"))) for number, case in enumerate(cases)
    )
    return {case.key: measured(case, told["runs"][0]["said"], repeat) for case, told in read}


def measured(case: Case, said: dict[str, list[dict[str, Any]]], repeat: int) -> list[Measured]:
    """What the programs of a lab have said, by repetition.

    The kernel counts for all repetitions together. So each has the mean of all as its counts: they do not differ.

    Raises:
        LabError: A request was not answered, or the queue not watched to the end.
    """
    fetched = [one for one in said.get("r", ()) if one["event"] == "fetched"]
    if len(fetched) != case.requests * repeat:
        raise LabError(f"{case.key}: {len(fetched)} of {case.requests * repeat} requests were answered")
    watched = said.get("switch", [])
    if len(watched) != 1:
        raise LabError(f"{case.key}: watch_queue.py told of the queue {len(watched)} times, not once at its end")
    (queue,) = watched
    counts: dict[str, float] = {}
    for told in chain.from_iterable(told for name, told in said.items() if name.startswith("s") and name != "switch"):
        for name, count in told.items():
            if name != "event":
                counts[name] = counts.get(name, 0) + count
    counts["marked"] = queue["disciplines"].get("red", {}).get("marked", 0)
    # A discipline counts what those inside it drop.
    counts["dropped"] = queue["disciplines"]["htb"]["dropped"]
    counts = {name: count / repeat for name, count in counts.items()}
    samples = [float(packets) for packets in queue["packets"].split(",")]
    made = []
    for at in range(0, len(fetched), case.requests):
        group = fetched[at : at + case.requests]
        flows = tuple(tuple((flow["start"], flow["end"]) for flow in one["flows"]) for one in group)
        long = case.requests == 1
        window = inside(samples, queue["start"], queue["every"], flows[0]) if long else []
        made.append(
            Measured(flows, case.size, percentiles(window), counts, group[0].get("steady_mbps") if long else None)
        )
    return made


def inside(samples: list[float], start: float, every: float, flows: tuple[tuple[float, float], ...]) -> list[float]:
    """The samples from a second after the last start, for windows to settle, to the first end."""
    begin, end = max(begun for begun, _ in flows) + 1, min(ended for _, ended in flows)
    return [value for number, value in enumerate(samples) if begin <= start + number * every <= end]


def percentiles(samples: list[float]) -> tuple[float, ...]:
    """Mean, 5th, 50th and 95th percentile; nothing of nothing."""
    if not samples:
        return ()
    ordered = sorted(samples)
    at = (ordered[min(len(ordered) - 1, int(share * len(ordered)))] for share in (0.05, 0.5, 0.95))
    return (sum(ordered) / len(ordered), *at)
