"""What Song's simulations share: the five schemes, their names and looks, and how the thesis measures them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from anabranch.reproduce import Axis, compared, lowered, means, raised, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anabranch.results.tables import Tables
    from anabranch.showing.figures import Panel, Series

BUFFER = "switch.buffer"
MODE, TRANSPORT = "routing.mode", "transport.name"
NORMAL, ECMP, DYNAMIC = "Normal Routing", "Normal Routing with ECMP", "Dynamic Nix-Vector Routing"
MULTIPATH, DUAL = "Multipath via Dynamic Nix-Vectors", "Dual IPv4/IPv6 with Front-Back"
SCHEMES: Mapping[tuple[str, ...], str] = {
    ("leftmost", "reno"): NORMAL,
    ("per-packet", "reno"): ECMP,
    ("nix-vector", "reno"): DYNAMIC,
    ("nix-vector", "front-back"): MULTIPATH,
    ("virtual-tables", "front-back"): DUAL,
}
"""Routing scheme and transport, to the name of Song §5.3.1.2."""
SHORT: Mapping[str, str] = {NORMAL: "NR", ECMP: "ECMP", DYNAMIC: "DNVR", MULTIPATH: "MDNVR", DUAL: "Dual"}
BEYOND = "beyond the thesis"


def named(results: Tables, names: Mapping[tuple[str, ...], str] = SCHEMES, *more: str) -> pl.DataFrame:
    """Name the flows' ``scheme`` and, in packets, the ``buffer`` of a port.

    Parameters
    ----------
    results
        An experiment.
    names
        Values of `MODE`, of the transport and of the columns `more`, to the scheme's name.
    more
        Columns.
    """
    flows = results.flows
    # A key that says the same as `transport` has no column of its own.
    transport = TRANSPORT if TRANSPORT in flows.columns else "transport"
    scheme = pl.concat_str(MODE, transport, *more, separator=" ").replace_strict(
        {" ".join(key): name for key, name in names.items()}, return_dtype=pl.String()
    )
    named = flows.with_columns(scheme.alias("scheme"))
    if BUFFER in flows.columns:
        named = named.with_columns(pl.col(BUFFER).str.extract(r"^(\d+)").cast(pl.Int64).alias("buffer"))
    return named


def transfers(flows: pl.DataFrame, *where: str) -> pl.DataFrame:
    """What a server sends to a client, over all blocks: the thesis's "each node's data transfer" (§5.3.4).

    Parameters
    ----------
    flows
        Named flows; with a connection for each block a transfer has several.
    where
        Columns to keep, beside ``scheme``, ``buffer`` and ``seed``.

    Returns
    -------
    polars.DataFrame
        One row for each transfer, with ``fct_ns`` from the first request to the last byte, and ``goodput_bps``.
    """
    keys = [name for name in (*where, "scheme", "buffer", "seed", "src_host", "dst_host") if name in flows.columns]
    took = pl.col("end_ns").max() - pl.col("start_ns").min()
    sums = flows.group_by(keys, maintain_order=True).agg(took.alias("fct_ns"), pl.col("size_bytes").sum())
    return sums.with_columns((8e9 * pl.col("size_bytes") / pl.col("fct_ns")).alias("goodput_bps"))


def looks(names: Sequence[str]) -> tuple[Series, ...]:
    """Series of schemes."""
    return values_of("scheme", names)


FCT = pl.col("fct_ns") / 1e9
"""Completion time in seconds."""
THROUGHPUT = pl.col("goodput_bps") / 8e3
"""Bytes of a flow over its completion time, in KB/s."""


def pair(flows: pl.DataFrame, names: Sequence[str]) -> tuple[Panel, Panel]:
    """The two halves of Figures 5.11 to 5.17: mean completion time and mean throughput of all flows, by buffer."""
    series, buffer = looks(names), Axis("buffer of a port (packets)")
    left, right = (
        means(
            flows,
            series,
            value.mean(),
            over="buffer",
            x=buffer,
            y=Axis(f"average flow {what} ({unit})"),
            key=key,
            caption=f"Average flow {what}",
        )
        for key, value, what, unit in (
            ("left", FCT, "completion time", "s"),
            ("right", THROUGHPUT, "throughput", "KB/s"),
        )
    )
    return left, right


def faster(flows: pl.DataFrame, scheme: str, than: str = NORMAL) -> dict[int, float]:
    """By how many percent a scheme lowers the average completion time, seed by seed."""
    return lowered(compared(flows, FCT.mean(), {"scheme": scheme}, {"scheme": than}))


def gain(flows: pl.DataFrame, scheme: str, than: str = NORMAL) -> dict[int, float]:
    """By how many percent a scheme raises the average throughput of flows, seed by seed."""
    return raised(compared(flows, THROUGHPUT.mean(), {"scheme": scheme}, {"scheme": than}))


def over_all_buffers(flows: pl.DataFrame, scheme: str, than: str = NORMAL) -> dict[int, float]:
    """Completion time of a scheme over that of another, the mean over all buffers, seed by seed."""
    each = flows.group_by("scheme", "seed", "buffer").agg(FCT.mean().alias("s"))
    return compared(each, pl.col("s").mean(), {"scheme": scheme}, {"scheme": than})
