"""The papers' experiments: every figure has one, and the reductions that their numbers rest on."""

from __future__ import annotations

import tomllib
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import polars as pl
import pytest

from anabranch.base import bundle
from anabranch.reproduce import prose, record, registry, runner
from anabranch.reproduce.reductions import fabric
from anabranch.reproduce.rows import Source

if TYPE_CHECKING:
    from pathlib import Path

    from anabranch.reproduce import Experiment
    from anabranch.results.tables import Tables


def lettered(**parts: str) -> list[str]:
    """Figures with lettered parts: ``lettered(f5="ab")`` is 5a and 5b."""
    return [f"{name[1:]}{letter}" for name, letters in parts.items() for letter in letters]


SCDP = [
    *lettered(f1="ab", f5="abcd", f6="abcd", f7="abcd", f8="abcd", f10="abcd", f11="abcd"),
    *lettered(f12="abd", f13="ab", f16="abc"),  # 12c is a drawing of the topology
    *("9", "14", "15", "17"),
]
POLYRAPTOR = lettered(f1="abc")
NDP = [*lettered(f6="abcde", f8="abc"), "7", "9"]


SONG = ["1.6", "4.3", "4.4", "4.6", "5.1", "5.5", *(f"5.{number}" for number in range(10, 18))]  # others are drawings


@pytest.mark.parametrize(
    ("paper", "figures"), [("scdp", SCDP), ("polyraptor", POLYRAPTOR), ("ndp", NDP), ("song", SONG)]
)
def test_every_figure_of_the_papers_has_one_experiment(paper: str, figures: list[str]) -> None:
    made = [figure for experiment in registry.of_paper(paper) for figure in experiment.figures]
    assert len(made) == len(set(made))
    assert set(figures) <= set(made)


@pytest.mark.parametrize("experiment", registry.experiments(), ids=lambda experiment: experiment.name)
def test_an_experiment_says_what_it_is(experiment: Experiment) -> None:
    assert experiment.question.endswith("?")
    # Either a scenario in two sizes or a calculation.
    if not experiment.calculate:
        assert bundle.find(experiment.file).is_file()
    assert all(claim.where and claim.says for claim in experiment.claim)


CALCULATED = [one for one in registry.experiments() if one.calculate]


@pytest.mark.parametrize("experiment", CALCULATED, ids=lambda experiment: experiment.name)
def test_a_calculation_gives_what_its_record_says(experiment: Experiment, tmp_path: Path) -> None:
    job = runner.prepare(experiment, tmp_path)
    made = record.make(Source(experiment, runner.run(job)), (), quick=False).as_json()
    kept = record.read(record.path(bundle.clone("this test"), experiment.name))
    assert kept is not None
    assert kept.as_json()["claims"] == made["claims"]


def named(name: str) -> Experiment:
    """An experiment by its name."""
    return registry.find([name])[0]


def measure(name: str, key: str, results: Tables) -> dict[int, float]:
    """A claim's number by seed."""
    (claim,) = (claim for claim in named(name).claim if claim.key == key)
    return Source(named(name), results).measure(claim)


@pytest.mark.parametrize(
    ("name", "rows", "column"), [("scdp/models", "steps", "step"), ("scdp/published", "sessions", "settings")]
)
def test_every_point_of_a_sweep_has_its_name(name: str, rows: str, column: str) -> None:
    labels = named(name).rows[rows].names[column]
    assert not isinstance(labels, str)
    keys = [*next(iter(labels.values()))]
    sweep = tomllib.loads(bundle.find(named(name).file).read_text("utf-8"))["sweep"]
    # In the order of the scenario, which is that of the bars.
    (points,) = (points for swept, points in sweep.items() if set(swept.split(", ")) == set(keys))
    (order,) = (swept.split(", ") for swept in sweep if set(swept.split(", ")) == set(keys))
    assert [dict(zip(order, point, strict=True)) for point in points] == list(labels.values())


def test_the_quick_requests_are_those_of_the_scenario_for_fewer_hosts() -> None:
    experiment = named("scdp/published")
    (setting,) = (setting for setting in experiment.quick if setting.startswith("sweep."))
    ((keys, rows),) = tomllib.loads(setting)["sweep"].items()
    sweep = tomllib.loads(bundle.find(experiment.file).read_text("utf-8"))["sweep"][keys]
    rate = keys.split(", ").index("workload.requests.arrivals.rate")
    for row, full in zip(rows, sweep, strict=True):
        assert [*row[:rate], *row[rate + 1 :]] == [*full[:rate], *full[rate + 1 :]]
        assert row[rate] / 54 == pytest.approx(full[rate] / 250)


WAY, RATE, BLOCKS = (f"workload.requests.{key}" for key in ("fallback", "arrivals.rate", "placement.blocks"))
FLOW: dict[str, Any] = {
    "run": "p000-s1",
    "seed": 1,
    "status": "complete",
    "transport": "scdp",
    "workload": "requests",
    "mode": "unicast",
    "background": False,
    "session": 0,
    "request": 0,
    "src_host": 0,
    "dst_host": 1,
    "size_bytes": 1_000_000,
    "start_ns": 0.0,
    "end_ns": 8e6,
    "packets_sent": 0,
    "packets_trimmed": 0,
    "packets_dropped": 0,
    "timeouts": 0,
    "decoded": False,
    "overhead_symbols": 0,
}


def stand_in(**tables: object) -> Tables:
    """Results of which only these tables are known."""
    return cast("Tables", SimpleNamespace(**tables))


def runs(*names: str, simulated_ns: float) -> pl.DataFrame:
    """The runs of results."""
    return pl.DataFrame({"run": names, "simulated_ns": simulated_ns})


def flows(*rows: dict[str, Any], keys: tuple[str, ...] = ()) -> Tables:
    """Results of flows that differ from a session of 1 MB in 8 ms by what is given."""
    frame = pl.DataFrame([FLOW | row for row in rows])
    duration = pl.col("end_ns") - pl.col("start_ns")
    frame = frame.with_columns(duration.alias("fct_ns"), (8e9 * pl.col("size_bytes") / duration).alias("goodput"))
    if "goodput_bps" not in frame.columns:
        frame = frame.with_columns(pl.col("goodput").alias("goodput_bps"))
    return stand_in(flows=frame.drop("goodput"), keys=(*keys, "transport"))


def test_a_request_is_complete_when_its_last_part_is() -> None:
    results = flows(
        # Read-ahead: three blocks to one client.
        *({"session": part, "size_bytes": 300_000, "end_ns": end} for part, end in enumerate((2e6, 9e6, 4e6))),
        # A daisy chain: the object once, although three hosts receive it.
        *({"request": 1, "session": 3 + hop, "dst_host": 5 + hop, "end_ns": 8e6 + hop * 1e6} for hop in range(3)),
        # Multicast: one session, three receivers.
        *({"request": 2, "session": 6, "dst_host": 5 + leaf, "end_ns": 8e6 + leaf * 4e6} for leaf in range(3)),
        # A part that never arrives.
        *({"request": 3, "session": 7 + part, "end_ns": end} for part, end in enumerate((2e6, None))),
    )
    table = Source(named("scdp/fig05"), results).rows("requests").sort("request")
    assert table["size_bytes"].to_list() == [900_000, 1_000_000, 1_000_000, 2_000_000]
    assert table["fct_ns"].to_list() == [9e6, 10e6, 16e6, None]
    assert table["goodput_bps"].to_list() == [0.8e9, 0.8e9, 0.5e9, None]


def written(
    transport: str, way: str, rate: int, *goodputs: float | None, size: int = 1_000_000
) -> list[dict[str, Any]]:
    """Writes of these goodputs in Gbps; None: did not finish."""
    run = f"{transport} {way} {rate} {size}"
    return [
        {
            "run": run,
            "request": turn,
            "session": turn,
            "transport": transport,
            "size_bytes": size,
            "end_ns": None if goodput is None else 8 * size / goodput,
            WAY: way,
            RATE: rate,
        }
        for turn, goodput in enumerate(goodputs)
    ]


BACKGROUND = {"background": True, "workload": "background", WAY: "multi-unicast"}
WRITES = flows(
    *written("scdp", "multi-unicast", 2000, 0.95, 0.92, 0.7, None),
    *written("scdp", "multi-unicast", 4000, 0.6, 0.6),
    *written("scdp", "multi-unicast", 4000, 0.4, 0.4, size=4_000_000),
    *written("ndp", "multi-unicast", 2000, 0.4, 0.4),
    *written("ndp", "daisy-chain", 2000, 0.5, 0.5),
    *written("ndp", "multi-unicast", 4000, 0.3, 0.3),
    *written("ndp", "daisy-chain", 4000, 0.2, 0.2),
    *written("ndp+", "multi-unicast", 2000, 0.5, 0.5),
    *written("ndp+", "daisy-chain", 2000, 0.5, 0.5),
    *written("ndp+", "multi-unicast", 4000, 0.36, 0.36),
    *written("ndp+", "daisy-chain", 4000, 0.2, 0.2),
    BACKGROUND | {"run": "scdp multi-unicast 4000 4000000", "goodput_bps": 0.3e9},
    BACKGROUND | {"run": "scdp multi-unicast 2000 1000000", "goodput_bps": 0.9e9},
    keys=(WAY, RATE),
)


def test_sessions_that_did_not_finish_are_not_above_any_share() -> None:
    assert measure("scdp/fig05", "above-90", WRITES) == {1: 50.0}


def test_background_goodput_is_that_of_the_heaviest_load() -> None:
    assert measure("scdp/fig05", "background-scdp", WRITES) == {1: 0.3}


def test_the_largest_gain_is_over_the_better_way() -> None:
    # 2000: 0.6425 over 0.5, the daisy chain. 4000: 0.6 over 0.3, multi-unicast.
    assert measure("scdp/fig05", "gain-over-ndp", WRITES)[1] == pytest.approx(100)


def test_mean_gains_compare_the_same_way_where_both_have_it() -> None:
    gains = measure("scdp/fig05", "ndp-plus-over-ndp", WRITES)
    assert gains[1] == pytest.approx((25 + 0 + 20 + 0) / 4)
    # SCDP has one way: each of the other's is compared with it.
    below = measure("scdp/fig05", "ndp-plus-below-scdp", WRITES)
    mean = (0.95 + 0.92 + 0.7) / 4
    assert -below[1] == pytest.approx(100 * ((0.5 / mean + 0.5 / mean + 0.36 / 0.6 + 0.2 / 0.6) / 4 - 1))


def test_read_ahead_counts_as_the_object_that_was_asked_for() -> None:
    parts = [{"session": part, "size_bytes": 333_333, "end_ns": 1e7, RATE: 2000, BLOCKS: 3} for part in range(3)]
    single = {"run": "p001-s1", RATE: 2000, BLOCKS: 1}
    results = flows(*parts, single, keys=(RATE, BLOCKS))
    objects = Source(named("scdp/fig06"), results).rows("objects")
    assert objects.select("object_mb", RATE).unique().rows() == [(1.0, 2000)]


def test_an_incast_takes_as_long_as_its_last_flow() -> None:
    point = {"workload.answers.sizes.size": "70KB", "workload.answers.placement.senders": 2}
    results = flows(
        *(
            {"session": part, "workload": "answers", "size_bytes": 70_000, "end_ns": end} | point
            for part, end in enumerate((1e6, 2e6))
        ),
        {"run": "p001-s1", "workload": "answers", "end_ns": None} | point,
    )
    table = Source(named("scdp/fig12-incast"), results).rows("at-once")
    assert table["goodput_bps"].to_list() == [8e9 * 140_000 / 2e6, 0.0]


def test_outcast_groups_are_compared_while_both_send() -> None:
    results = flows(
        {"session": 0, "workload": "near", "end_ns": 2e6},
        {"session": 1, "workload": "near", "end_ns": 3.5e6},
        {"session": 2, "workload": "far", "end_ns": 9e6},
    )
    # Nothing is delivered in the first millisecond; the near flows' last bytes are in the sample after they ended; then
    # the far flow has the link to itself.
    near = [(2e6, 0, 7e8), (3e6, 1, 3.5e8), (4e6, 1, 3.5e8)]
    far = [(2e6, 2, 7e8), (4e6, 2, 7e8), (5e6, 2, 1e9), (6e6, 2, 1e9), (9e6, 2, 1e9)]
    about = {"run": "p000-s1", "seed": 1, "transport": "scdp", "metric": "goodput_bps"}
    samples = [about | {"time_ns": time, "id": flow, "value": value} for time, flow, value in near + far]
    results = stand_in(flows=results.flows, series=pl.DataFrame(samples), runs=runs("p000-s1", simulated_ns=9e6))
    table = Source(named("scdp/fig12-outcast"), results).rows("outcast")
    assert table["group"].to_list() == ["2 flows, 4 hops", "12 flows, 6 hops", "both groups"]
    assert table["goodput_bps"].to_list() == pytest.approx([4e8, 4e8, 8e8])


def test_outcast_counts_what_the_links_to_the_receivers_carry_while_both_send() -> None:
    results = flows(
        {"workload": "near", "dst_host": 0, "end_ns": 2e6},
        {"session": 1, "workload": "far", "dst_host": 1, "end_ns": 9e6},
    )
    about = {"run": "p000-s1", "seed": 1}
    links = pl.DataFrame([about | {"link": link, "dst": dst} for link, dst in ((0, "h0"), (2, "h1"), (4, "edge0"))])
    # The near group is complete after 2 ms; the link to the edge switch leads to no receiver.
    carried = [(1e6, 0, 50_000), (1e6, 2, 100_000), (2e6, 0, 50_000), (2e6, 2, 100_000), (4e6, 2, 1e6), (1e6, 4, 9e9)]
    series = [about | {"metric": "bytes", "time_ns": time, "id": link, "value": value} for time, link, value in carried]
    of_runs = runs("p000-s1", simulated_ns=9e6)
    tables = stand_in(flows=results.flows, links=links, series=pl.DataFrame(series), runs=of_runs)
    table = Source(named("scdp/fig12-outcast"), tables).rows("outcast-links")
    assert dict(table.select("group", "bps").rows()) == {"2 flows, 4 hops": 4e8, "12 flows, 6 hops": 8e8}


def test_core_ports_are_counted_by_switch_in_the_order_of_links() -> None:
    def link(number: int, src: str, dst: str, packets: int) -> dict[str, Any]:
        level = {"a": "aggregation", "c": "core"}
        about = {"src_level": level[src[0]], "dst_level": level[dst[0]], "routing.mode": "per-flow"}
        return {"run": "p000-s1", "seed": 1, "link": number, "src": src, "dst": dst, "packets": packets, **about}

    links = pl.DataFrame(
        [
            link(7, "agg1.0", "core10", 30),
            link(0, "agg0.0", "core2", 10),
            link(1, "core2", "agg0.0", 99),
            link(3, "agg1.0", "core2", 10),
            link(4, "agg0.0", "core10", 20),
        ]
    )
    source = Source(named("ndp/fig7"), stand_in(links=links))
    ports = source.rows("ports")
    assert ports.select("switch", "port", "packets").rows() == [(2, 0, 10), (2, 1, 10), (10, 0, 20), (10, 1, 30)]
    # Port 0: 10 and 20 packets, port 1: 10 and 30.
    assert source.rows("variation")["variation"].mean() == pytest.approx((5 / 15 + 10 / 20) / 2)


def test_fairness_is_measured_while_all_flows_send() -> None:
    # Two flows: the first from 1 to 4, the second from 2 to 5; alone before and after, 3:1 and 1:1 between.
    values = {0: [1.0, 0.5, 0.75, 0.5, 0.2, 0.0], 1: [0.0, 0.1, 0.25, 0.5, 0.5, 1.0]}
    rows = [
        {
            "run": "p",
            "seed": 1,
            "transport": "scdp",
            "metric": "goodput_bps",
            "id": flow,
            "time_ns": float(time),
            "value": value,
        }
        for flow, column in values.items()
        for time, value in enumerate(column)
    ]
    results = stand_in(series=pl.DataFrame(rows))
    assert measure("scdp/fig17", "fair", results)[1] == pytest.approx((1 / (2 * (0.75**2 + 0.25**2)) + 1) / 2)


def test_servers_without_applications_are_drawn_as_zero() -> None:
    results = flows({"src_host": 0, "dst_host": 2}, {"session": 1, "src_host": 0, "dst_host": 3})
    nodes = [SimpleNamespace(level="host", pod=pod) for pod in (0, 0, 1, 1)]
    tables = stand_in(flows=results.flows.with_columns(workload=pl.lit("flows")), fabric=SimpleNamespace(nodes=nodes))
    source = Source(named("ndp/fig6"), tables)
    assert fabric.applications(source)["applications"].to_list() == [2, 0, 0, 0, 0, 0, 1, 1]
    matrix = fabric.matrix(source)
    assert matrix.filter(pl.col("flows") > 0).select("server", "pod", "flows").rows() == [(2, 0, 1), (3, 0, 1)]
    assert matrix.height == 8


def test_network_overhead_is_a_share_of_the_source_symbols_of_all_receivers() -> None:
    size = 100 * 1436 - 1
    results = flows(
        *({"dst_host": host, "size_bytes": size, "overhead_symbols": host, RATE: 4000} for host in (1, 2, 3)),
        {"run": "p001-s1", "overhead_symbols": 500, RATE: 2000},
        {"run": "p002-s1", "transport": "ndp", RATE: 4000},
    )
    assert measure("scdp/fig16", "overhead", results) == {1: pytest.approx(2.0)}


def test_mixed_background_loads_hosts_four_times_as_much_as_its_writes() -> None:
    results = flows({"workload": "flows", "workload.writes.arrivals.load": 0.125})
    assert Source(named("scdp/fig10"), results).rows("mixed")["load"].to_list() == [0.5]


def test_what_another_experiment_recorded_stands_beside_each_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    series = {"SCDP": {"x": [0.5, 0.8], "y": [0.2, 0.4]}, "NDP": {"x": [0.5], "y": [9]}}
    kept = SimpleNamespace(quick=False, figures=[{"figure": "7", "panels": [{"panel": "a", "series": series}]}])
    monkeypatch.setattr(record, "read", lambda _: kept)
    load, seeds = {"workload": "flows", "workload.writes.arrivals.load": 0.125, "size_bytes": 1000}, (1, 2)
    results = flows(*({"run": f"p-s{seed}", "seed": seed, "end_ns": seed * 3e5} | load for seed in seeds))
    # 0.3 and 0.6 ms where the other has 0.2 ms.
    assert measure("scdp/fig10", "identical-a-load0.5", results) == pytest.approx({1: 1.5, 2: 3.0})
    kept.quick = True
    assert measure("scdp/fig10", "identical-a-load0.5", results) == {}


def test_the_workload_is_counted_once() -> None:
    sizes = (10_000, 10_001, 100_000, 1_000_000, 1_000_001, 10_000_000, 20_000_000, 5_000)
    results = flows(
        *(
            {
                "run": f"{name}{load}",
                "transport": name,
                "workload": "flows",
                "size_bytes": size,
                "workload.background.placement.share": load,
            }
            for name in ("scdp", "ndp")
            for load in (0.3, 0.8)
            for size in sizes
        )
    )
    keys = (*(f"share-{turn}" for turn in range(4)), "long-flows", "mean-size")
    measured = {key: measure("scdp/fig07", key, results) for key in keys}
    assert [measured[f"share-{turn}"][1] for turn in range(4)] == [25.0, 25.0, 12.5, 37.5]
    assert measured["long-flows"] == {1: 2.0}
    assert measured["mean-size"][1] == pytest.approx(sum(sizes) / len(sizes) / 1e6)


@pytest.mark.parametrize(
    ("name", "explanation", "above", "below"),
    [
        ("scdp/published", "twenty", "trimmed-w20, published queues", "trimmed-w52, published queues"),
        ("scdp/published", "twenty", "trimmed-w20, published queues, shared", "trimmed-w52, published queues, shared"),
        ("song/windows", "windows", "leftmost path, 2 connections@300", "leftmost path, 1 connection@300"),
        ("song/windows", "windows", "leftmost path, 2 connections@50", "leftmost path, 1 connection@50"),
    ],
)
def test_an_explanation_says_the_shares_that_its_record_has(
    name: str, explanation: str, above: str, below: str
) -> None:
    of, facts = named(name), prose.Facts(registry.experiments(), bundle.clone("this test"))
    kind = "record:windows/right:" if "@" in above else "claim:"
    over, under = (float(facts.text(f"{{{kind}{key}|.9g}}", of)) for key in (above, below))
    share = 100 * over / under if kind == "claim:" else abs(100 * (over / under - 1))
    assert f"{share:.0f} %" in " ".join(facts.text(of.explanation[explanation].text, of).split())
