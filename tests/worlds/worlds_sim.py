"""The simulator's side: the same transfers as scenarios."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
from worlds_case import FRAME_BYTES, HERE, Measured, Transfer, replaced

import anabranch
from anabranch import Results

SEEDS = 40
"""So many are tried for those in which the client of a group is `a`: one in four is."""

SHORT_QUEUE = ("switch.buffer=15KB", "switch.header_buffer=15KB")
SETTINGS = {
    "no loss": (),
    "1 % loss": (),
    "trimming": ("switch.queue=trim", *SHORT_QUEUE),
    "short queue": SHORT_QUEUE,
}

LOSS = 0.01
FRAME_S = FRAME_BYTES * 8 / 100e6
LONGEST_S = 2.0


def run(
    transfer: Transfer,
    condition: str,
    folder: Path,
    *,
    runs: int = 5,
    settings: Sequence[str] = (),
    changes: Sequence[tuple[str, str]] = (),
) -> list[Measured]:
    """So many runs of a case, with other settings of the scenario, and some texts of the fabric's file replaced."""
    folder.mkdir(parents=True)
    name = "slow" if transfer.slow and condition in {"trimming", "short queue"} else "equal"
    fabric = replaced((HERE / f"{name}.fabric").read_text(encoding="utf-8"), changes)
    (folder / "hosts.fabric").write_text(fabric, encoding="utf-8")
    given = [f"fabric.path={folder / 'hosts.fabric'}", *SETTINGS[condition], *settings]
    scenario = HERE / f"{transfer.file}.toml"
    results = anabranch.run(scenario, given, out=folder / "out", seeds=SEEDS, progress=False)
    names = _of_client(transfer, results)[:runs]
    if condition != "1 % loss":
        return [_measured(transfer, results, name) for name in names]
    measured = []
    for number, name in enumerate(names, start=1):
        cut = folder / f"cut-{number}.toml"
        cut.write_text(scenario.read_text(encoding="utf-8") + "".join(_cuts(transfer, number)), encoding="utf-8")
        one = [*given, f"seed={name.rpartition('s')[2]}"]
        results = anabranch.run(cut, one, out=folder / f"out-{number}", seeds=1, progress=False)
        measured.append(_measured(transfer, results, _of_client(transfer, results)[0]))
    return measured


def _of_client(transfer: Transfer, results: Results) -> list[str]:
    """The runs in which `a` sends, or receives from three."""
    column = "src_host" if transfer.senders == ("a",) else "dst_host"
    found = results.flows.filter(pl.col(column) == 0)["run"].unique().to_list()
    return sorted(found, key=lambda name: int(name.rpartition("s")[2]))


def _cuts(transfer: Transfer, seed: int) -> Iterator[str]:
    """Cuts each link that loses for a nanosecond now and then: the packet on it, if there is one, is lost.

    A queue would be lost with it, so that of several senders the links are cut, not the receiver's, at which they meet.
    """
    for end in transfer.receivers if len(transfer.senders) == 1 else transfer.senders:
        draw = random.Random(f"{seed} {end}")
        at = draw.expovariate(LOSS / FRAME_S)
        while at < LONGEST_S:
            ns = round(at * 1e9)
            for when, action in ((ns, "cut"), (ns + 1, "restore")):
                yield f'\n[[failure]]\nat = "{when}ns"\nlink = "{end}-s"\naction = "{action}"\n'
            at += draw.expovariate(LOSS / FRAME_S)


def _measured(transfer: Transfer, results: Results, run: str) -> Measured:
    flows = results.flows.filter(pl.col("run") == run)
    links = results.links.filter(pl.col("run") == run)
    if flows["fct_ns"].null_count():
        raise RuntimeError(f"{transfer.file}: run {run} is not complete")

    def sent(hosts: Sequence[str], column: str) -> int:
        return int(links.filter(pl.col("src").is_in(hosts))[column].sum())

    return Measured(
        symbols=int(flows["packets_sent"].to_numpy().max()),
        pulls=sent(transfer.receivers, "packets"),
        uplink_bytes=sent(transfer.senders, "bytes"),
        seconds=float(flows["fct_ns"].to_numpy().max()) / 1e9,
        trimmed=int(links["trimmed"].sum()),
        lost=int(links["dropped"].sum()),
        copies=0,
    )
