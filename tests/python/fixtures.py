"""Synthetic result folders in the documented layout: plausible shapes, no simulation, for tests of everything after it.

The numbers are drawn, not simulated; nothing here says how a transport performs.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from anabranch.results import schema

if TYPE_CHECKING:
    from pathlib import Path

RATE = 1_000_000_000

# (spread of the slowdown, retransmission timeouts of short flows) per transport, to give the curves distinct shapes.
SHAPES = {"scdp": (0.25, 0.0), "ndp": (0.35, 0.0), "dctcp": (0.7, 0.01), "newreno": (0.9, 0.04)}

SCENARIO = """\
# Question: how do four transports
# compare on short-flow tails?
#
# Fixture: synthetic numbers.

name = "fixture"
description = "Web search on a fat-tree"
repeat = 3

[fabric]
topology = "fat-tree"
k = 4
rate = "1Gbps"
delay = "10us"

[[workload]]
name = "web-search"
arrivals = { law = "poisson", load = 0.6 }
sizes = { law = "cdf", name = "websearch_pfabric" }

[sweep]
"transport.name" = ["scdp", "ndp", "dctcp", "newreno"]
"""


@dataclass(frozen=True)
class Fixture:
    """What to write."""

    k: int = 4
    sweep: dict[str, list[Any]] = field(default_factory=lambda: {"transport.name": list(SHAPES)})
    seeds: tuple[int, ...] = (1, 2, 3)
    sessions: int = 120
    background: int = 4
    status: dict[str, str] = field(default_factory=dict)
    series: bool = False
    scenario: str = SCENARIO
    alike: dict[str, dict[int, int]] = field(default_factory=dict)
    """Transport to seed to the seed whose run it repeats."""
    deadline: float | None = None
    """Of every third flow in the foreground, as a multiple of its ideal completion time."""


def fat_tree(k: int) -> dict[str, list[dict[str, Any]]]:
    half = k // 2
    nodes: list[dict[str, Any]] = []
    links: list[dict[str, Any]] = []

    def node(name: str, level: str, pod: int | None) -> int:
        nodes.append({"name": name, "level": level, "pod": pod})
        return len(nodes) - 1

    def link(a: int, b: int) -> None:
        links.append({"a": a, "b": b, "rate_bps": RATE, "delay_ns": 10_000.0})

    hosts = [node(f"h{h}", "host", h // (half * half)) for h in range(k * half * half)]
    edges = [node(f"edge{p}.{e}", "edge", p) for p in range(k) for e in range(half)]
    aggregations = [node(f"agg{p}.{a}", "aggregation", p) for p in range(k) for a in range(half)]
    cores = [node(f"core{c}", "core", None) for c in range(half * half)]
    for h, host in enumerate(hosts):
        link(host, edges[h // half])
    for p, e, a in itertools.product(range(k), range(half), range(half)):
        link(edges[p * half + e], aggregations[p * half + a])
    for p, a, c in itertools.product(range(k), range(half), range(half)):
        link(aggregations[p * half + a], cores[a * half + c])
    return {"nodes": nodes, "links": links}


def flows(fixture: Fixture, run: str, transport: str, seed: int, *, load: float, stalled: bool) -> pl.DataFrame:
    common = np.random.default_rng(seed)  # sizes and arrivals do not depend on the transport
    own = np.random.default_rng([seed, sum(transport.encode())])
    spread, timeout = SHAPES.get(transport, (0.5, 0.01))
    hosts = fixture.k**3 // 4
    n, b = fixture.sessions, fixture.background
    size = np.concatenate([(10 ** common.uniform(3, 7.3, n)).astype(np.int64), np.full(b, 50_000_000)])
    start = np.concatenate([np.cumsum(common.exponential(2e5, n)), np.zeros(b)])
    src = common.integers(0, hosts, n + b)
    dst = (src + common.integers(1, hosts, n + b)) % hosts
    ideal = 8e9 * size / RATE + 80_000.0
    slowdown = 1 + own.gamma(1.2, spread * (0.4 + load), n + b)
    fct = ideal * slowdown + np.where(own.random(n + b) < timeout, 2e8, 0.0)
    background = np.arange(n + b) >= n
    finished = ~background
    if stalled:
        finished &= np.arange(n + b) % 10 != 3
    goodput = np.where(background, RATE * own.uniform(0.2, 0.9, n + b), 8e9 * size / fct)
    nothing = pl.when(pl.Series(finished))
    sent = (size // 1460 + 1).astype(np.uint64)
    frame = pl.DataFrame(
        {
            "session": np.arange(n + b),
            "request": np.arange(n + b),
            "workload": ["background" if x else "web-search" for x in background],
            "background": background,
            "src_host": src,
            "dst_host": dst,
            "size_bytes": size,
            "start_ns": start,
            "fct_ns": fct,
            "ideal_fct_ns": ideal,
            "goodput_bps": goodput,
            "packets_sent": sent,
        }
    ).with_columns(
        pl.lit(run).alias("run"),
        pl.lit("unicast").alias("mode"),
        nothing.then("fct_ns").alias("fct_ns"),
        nothing.then(pl.col("start_ns") + pl.col("fct_ns")).alias("end_ns"),
        nothing.then(pl.col("fct_ns") / pl.col("ideal_fct_ns")).alias("slowdown"),
        pl.when(pl.Series(finished | background)).then("goodput_bps").alias("goodput_bps"),
        pl.lit(6).alias("hops"),
        *(pl.lit(0).alias(name) for name in ("packets_retransmitted", "packets_trimmed", "packets_dropped")),
        *(pl.lit(0).alias(name) for name in ("packets_marked", "timeouts", "overhead_symbols")),
        pl.lit(value=False).alias("decoded"),
        pl.lit(None).alias("straggler"),
        pl.lit(None).alias("block"),
        pl.lit(value=True).alias("measured"),
        pl.when(pl.Series(~background & (np.arange(n + b) % 3 == 0)))
        .then(pl.col("ideal_fct_ns") * fixture.deadline if fixture.deadline else pl.lit(None))
        .alias("deadline_ns"),
    )
    return frame.select(pl.col(name).cast(kind) for name, kind in schema.FLOWS.items())


def links(fixture: Fixture, run: str, transport: str, seed: int, *, load: float) -> pl.DataFrame:
    fabric = fat_tree(fixture.k)
    own = np.random.default_rng([seed, sum(transport.encode()), 1])
    rows = []
    trims = transport in {"scdp", "ndp"}
    for place, link in enumerate(fabric["links"]):
        for direction, (a, b) in enumerate([(link["a"], link["b"]), (link["b"], link["a"])]):
            used = float(np.clip(own.beta(6 * load, 6 * (1 - load) + 0.1), 0, 1))
            queue = int(8 if trims and used > 0.4 else own.integers(1, 100) * used)
            lost = int(own.poisson(40 * used**3))
            rows.append(
                {
                    "run": run,
                    "link": 2 * place + direction,
                    "src": fabric["nodes"][a]["name"],
                    "dst": fabric["nodes"][b]["name"],
                    "src_level": fabric["nodes"][a]["level"],
                    "dst_level": fabric["nodes"][b]["level"],
                    "rate_bps": RATE,
                    "packets": int(1e5 * used),
                    "bytes": int(1.5e8 * used),
                    "utilisation": used,
                    "utilisation_window": min(1.0, 1.2 * used),
                    "dropped": 0 if trims else lost,
                    "trimmed": 3 * lost if trims else 0,
                    "marked": 20 * lost if transport == "dctcp" else 0,
                    "queue_max_packets": queue,
                    "queue_max_bytes": 1500 * queue,
                    "queue_mean_bytes": 300.0 * queue * used,
                    "pause_frames": 0,
                    "paused_ns": 0.0,
                    "headroom_drops": 0,
                }
            )
    return pl.DataFrame(rows).select(pl.col(name).cast(kind) for name, kind in schema.LINKS.items())


def write(folder: Path, fixture: Fixture | None = None) -> Path:
    """Write a result folder and return it."""
    fixture = fixture or Fixture()
    keys = list(fixture.sweep)
    points = [dict(zip(keys, values, strict=True)) for values in itertools.product(*fixture.sweep.values())]
    runs = []
    for (p, point), seed in itertools.product(enumerate(points), fixture.seeds):
        run = f"p{p:03}-s{seed}"
        status = fixture.status.get(run, "complete")
        transport = point.get("transport.name", point.get("variant", "ndp-")).split("-")[0]
        drawn = fixture.alike.get(transport, {}).get(seed, seed)
        load = float(point.get("load", 0.6))
        if status != "interrupted":
            home = folder / "runs" / run
            home.mkdir(parents=True, exist_ok=True)
            stalled = status != "complete"
            flows(fixture, run, transport, drawn, load=load, stalled=stalled).write_parquet(home / "flows.parquet")
            links(fixture, run, transport, drawn, load=load).write_parquet(home / "links.parquet")
            if fixture.series:
                series = pl.DataFrame(
                    {"run": run, "time_ns": [0.0, 1e6], "metric": "queue_bytes", "id": 3, "value": [0.0, 1500.0]}
                )
                series.select(pl.col(n).cast(t) for n, t in schema.SERIES.items()).write_parquet(
                    home / "series.parquet"
                )
        runs.append(
            {
                "run": run,
                "point": point,
                "seed": seed,
                "transport": transport,
                "status": status,
                "message": None if status == "complete" else f"{run}: flows 3, 13 wait for a pull",
                "fingerprint": f"{hash((p, drawn)) & 0xFFFFFFFFFFFFFFFF:016x}",
                "scenario_hash": f"{p:016x}{seed:016x}",
                "events": 12_345_678,
                "simulated_ns": 1.5e9,
                "wall_s": 2.5,
                "conservation": {
                    "sent": 1000,
                    "replicated": 0,
                    "delivered": 990,
                    "trimmed": 6,
                    "dropped": 4,
                    "in_flight": 0,
                },
            }
        )
        if status != "interrupted":
            (folder / "runs" / run / "run.json").write_text(json.dumps(runs[-1]))
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "fabric.json").write_text(json.dumps(fat_tree(fixture.k)))
    manifest = {
        "schema": 1,
        "anabranch_version": "0.1.0",
        "command": ["anabranch", "run", "fixture.toml", "--out", "out/fixture"],
        "scenario_file": "fixture.toml",
        "scenario_toml": fixture.scenario,
        "overrides": [],
        "sweep": fixture.sweep,
        "runs": runs,
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder
