"""Oblivious routing: linear programs against closed forms and every scheme, ratios of switches, Song's models."""

from __future__ import annotations

import itertools
import re
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anabranch import routing
from anabranch.errors import RoutingError
from anabranch.routing import goodput, loss
from anabranch.routing.inputs import ask

TREE = 'topology="m-port-n-tree", m=4, n=3'
SMALL = 'topology="m-port-n-tree", m=4, n=2'
LEAVES = 'topology="leaf-spine", leaves=4, spines=2, hosts_per_leaf=4'
FABRICS = (
    (TREE, ()),
    (SMALL, ()),
    (TREE, ("edge0.0@2-agg0.1@1", "agg1.0@1-core0.0@0")),
    (LEAVES, ("leaf0-spine1",)),
    (LEAVES + ", oversubscription=3", ()),
    ('topology="jellyfish", switches=8, ports=5, hosts_per_switch=2', ()),
    ('topology="bcube", n=3, k=1', ()),
    ('topology="dumbbell", left=3, right=2', ()),
)


@settings(max_examples=25)
@given(
    st.sampled_from(FABRICS),
    st.sampled_from(["random", "uniform", "incast:3", "stride:3", "senders:2"]),
    st.integers(0, 99),
)
def test_no_scheme_is_better_than_the_optimum(fabric: tuple[str, tuple[str, ...]], traffic: str, seed: int) -> None:
    text, failed = fabric
    best = routing.optimum(text, traffic, failed=failed, seed=seed)
    shortest = routing.optimum(text, traffic, failed=failed, seed=seed, shortest=True)
    assert best.load.value <= shortest.load.value + 1e-6
    report = routing.analyse(text, traffic, failed=failed, seed=seed)
    for scheme in report.schemes:
        least = best if scheme.scheme == "vlb" else shortest
        assert scheme.utilisation.load.value >= least.load.value - 1e-6, scheme.scheme
        assert scheme.perf is not None
        assert scheme.perf.value >= 1 - 1e-6
    assert report.optimum is not None
    assert report.optimum.load.value == pytest.approx(best.load.value, abs=1e-5)
    weighted = routing.analyse(text, traffic, ["weighted"], failed=failed, seed=seed).schemes[0]
    assert weighted.utilisation.load.value == pytest.approx(shortest.load.value, abs=1e-4)


@pytest.mark.parametrize("tree", [TREE, SMALL, 'topology="m-port-n-tree", m=2, n=3'])
@pytest.mark.parametrize("seed", range(4))
def test_closed_forms_are_the_solution_of_the_program_over_all_paths(tree: str, seed: int) -> None:
    report = routing.analyse(tree, "uniform", ["mdnvr"], seed=seed)
    (mdnvr,) = report.schemes
    assert report.optimum is not None
    assert report.optusw is not None
    assert routing.optimum(tree, "uniform", seed=seed).load.value == pytest.approx(report.optimum.load.value)
    assert routing.optimum(tree, "uniform", seed=seed, switches=True).load.value == pytest.approx(report.optusw.value)
    # Theorem 3.5, level by level, for all routes and not only the shortest.
    for level in mdnvr.levels:
        assert level.switch is not None
        found = routing.optimum(tree, "uniform", seed=seed, switches=True, level=level.level)
        assert found.load.value == pytest.approx(level.switch.load.value)


def test_weights_serve_several_matrices() -> None:
    alone = [routing.weights(LEAVES, [t], failed=["leaf0-spine1"]).load.value for t in ("stride:4", "incast:8")]
    both = routing.weights(LEAVES, ["stride:4", "incast:8"], failed=["leaf0-spine1"])
    assert both.load.value >= max(alone) - 1e-9
    assert all(sum(share for _, share in paths) == 1 for _, _, paths in both.pairs)


def test_ratios_of_switches_differ_from_theorem_5_3() -> None:
    """(5.10) claims 2 at both levels of FT(4, 3) for DNVR. Every single-path scheme has 4 at the core, and in all."""
    for scheme in ("balanced", "nr", "d-mod-k", "dnvr"):
        ratios = [routing.switch_ratio(TREE, scheme, level=t)[0] for t in range(3)]
        assert ratios == pytest.approx([4, 2, 1]), scheme
        assert routing.switch_ratio(TREE, scheme)[0] == pytest.approx(4), scheme
    claimed = {one.scheme: one.mload_at for one in routing.bounds(4, 3)}
    assert [str(t) for t in claimed["dnvr"]] == ["2", "2", "1"]
    # MDNVR, and MDNVRk where k divides the number of paths, are as claimed.
    for scheme, expected in {"mdnvr": [1, 1, 1], "mdnvr-k:2": [2, 2, 1], "mdnvr-k:4/3": [4 / 3, 4 / 3, 1]}.items():
        assert [routing.switch_ratio(TREE, scheme, level=t)[0] for t in range(3)] == pytest.approx(expected), scheme
    # Where k does not, the ratio is smaller: ceil(2 / (4/3)) paths of 2 are both.
    assert routing.switch_ratio(SMALL, "mdnvr-k:4/3", level=0)[0] == pytest.approx(1)


def test_the_worst_traffic_of_a_switch_has_the_ratio() -> None:
    ratio, switch, traffic = routing.switch_ratio(TREE, "balanced")
    least = routing.optimum(TREE, traffic, switches=True).load.value
    shares = {(s, d): dict(nodes) for s, d, nodes in ask("shares", TREE, scheme="balanced")}
    names = [node.name for node in routing.view(TREE).fabric.nodes]
    load = sum(amount * shares[pair].get(names.index(switch), 0.0) for pair, amount in traffic.items())
    assert load / least == pytest.approx(ratio)


def test_the_worst_pattern_is_that_of_all_permutations() -> None:
    fabric = 'topology="leaf-spine", leaves=3, spines=2, hosts_per_leaf=2'
    worst = routing.worst_pattern(fabric, "nr", failed=["leaf0-spine1"], switches=True)
    assert worst.link.load.load.value == 2
    most = 0.0
    shares: dict[tuple[int, int], Any] = {}
    for s, d, nodes in ask("shares", fabric, ["leaf0-spine1"], scheme="nr"):
        shares[s, d] = dict(nodes)
    spine = next(i for i, n in enumerate(routing.view(fabric).fabric.nodes) if n.name == "spine0")
    for order in itertools.permutations(range(6)):
        most = max(most, sum(shares[s, d].get(spine, 0.0) for s, d in enumerate(order) if s != d))
    assert worst.switches[0].load.load.value == most


def test_matrices_and_decompositions() -> None:
    assert routing.traffic_matrix(TREE, "stride:4")[15, 3] == 1
    assert routing.traffic_matrix(TREE, "all-to-all")[0, 1] == Fraction(1, 15)
    parts = routing.decompose(TREE, "stride:4")
    assert [(p.letter, p.pairs) for p in parts.parts] == [("I", 16), ("A", 0), ("E", 0)]
    assert parts.map is not None
    assert parts.map.splitlines()[1].split()[1:5] == [".", "E", "A", "A"]


def test_mistakes_are_named() -> None:
    def error(fabric: str = TREE, traffic: str = "stride:4", scheme: str = "nr", failed: tuple[str, ...] = ()) -> str:
        with pytest.raises(RoutingError) as caught:
            routing.analyse(fabric, traffic, [scheme], failed=failed)
        return str(caught.value)

    assert "did you mean mdnvr?" in error(scheme="mdnv")
    assert re.search(
        r"no link .edge0.0@2-agg0.9@1.*\nhint: did you mean edge0.0@2-agg0", error(failed=("edge0.0@2-agg0.9@1",))
    )
    assert "needs a fat-tree FT(m, n)" in error(LEAVES, scheme="balanced")
    assert "without failed links" in error(scheme="balanced", failed=("edge0.0@2-agg0.0@1",))
    assert "h0 has no link left" in error(failed=("h0-edge0.0@2",))
    assert "did you mean stride?" in error(traffic="strode:4")
    assert "expected a number k from 1" in error(scheme="mdnvr-k:1/2")
    assert "takes no parameter" in error(scheme="nr:3")
    assert "no such file" in error("fabric.topo")
    assert "expected an even number from 2" in error('topology="m-port-n-tree", m=5, n=3')
    assert "a fabric is a topology (" in error('topologie="star"')
    with pytest.raises(RoutingError, match="chosen for a traffic matrix"):
        routing.worst_pattern(TREE, "weighted")


def test_goodput_follows_from_its_parts() -> None:
    """(1.6) and (1.8) follow from (1.2) to (1.5), with I in milliseconds, but for rounded coefficients."""
    for senders in range(1, 26):
        assert goodput.goodput_incast_fitted(senders) == pytest.approx(goodput.goodput_incast(senders), rel=0.01)
        assert goodput.improvement_fitted(senders) == pytest.approx(goodput.improvement(senders), rel=0.02)
    gains = {senders: goodput.improvement(senders) for senders in range(1, 26)}
    assert max(gains, key=lambda s: gains[s]) == 8
    assert gains[8] == pytest.approx(31.72, abs=0.01)  # "more than 3000 %"
    assert gains[25] > 15  # "more than 1500 % at S = 25"
    # Oddities: fewer than no timeouts, and Incast of a single sender.
    assert [s for s in range(1, 26) if goodput.timeouts(s) < 0] == [3]
    assert goodput.goodput_incast(1) == pytest.approx(3.44e6, rel=0.001)
    assert goodput.goodput_ideal(1) == pytest.approx(64.0e6, rel=0.001)


def test_equation_3_1_is_the_loss_at_which_padhyes_windows_fill_pipe_and_buffer() -> None:
    """Both are 0.87 / sqrt(p) packets a round without timeouts, with an acknowledgement for two packets."""
    for flows, room in ((16, 50), (32, 200)):
        lost = loss.loss_rate(flows, 167, room)
        assert flows * loss.throughput(lost, 1.0, 0.0) == pytest.approx(167 + room, rel=0.01)
    assert loss.loss_rate(32, 167, 50) == pytest.approx(4 * loss.loss_rate(16, 167, 50))
    assert loss.loss_rate(1000, 10, 10) == 1


def test_timeouts_follow_from_loss_and_hold_blocks_up() -> None:
    shares = [loss.timeout_share(lost) for lost in (0.0, 0.001, 0.01, 0.1, 0.5)]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert loss.throughput(0.0, 0.01, 0.2, most=45) == 4500
    assert loss.backoff(0.5) == pytest.approx(8.0)
    for more in (0.001, 0.01, 0.1):
        few, many = (loss.block_goodput(n, 180, more, packets_per_s=83_333, rto_s=0.2) for n in (2, 8))
        assert 0 < few < 1
        assert many < 1
        assert few > loss.block_goodput(2, 180, 2 * more, packets_per_s=83_333, rto_s=0.2)
